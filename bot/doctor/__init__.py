"""`headway doctor`: what is wrong with this machine, these settings, this database, and the mend."""

from bot.doctor.checkup import run as run
