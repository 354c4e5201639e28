"""Files that people give and get, as the settings have them."""

from adapters.files.blobs import BlobFolder
from bot.settings import Settings

MB = 1024 * 1024


def open_files(settings: Settings) -> BlobFolder:
    """The files of the state folder; its folder is made at the first use."""
    return BlobFolder(settings.state_dir / "files", most=settings.file_most_mb * MB)
