"""`headway demo`: a goal from message to result in front of the user, killed on the way."""

from bot.demo.show import run as run
