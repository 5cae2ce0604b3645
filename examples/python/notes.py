"""Keeps notes in a volume in a file: no mount, no root. `python notes.py NEW-IMAGE`."""
import stat
import sys

import ordofs

image = sys.argv[1]
ordofs.create(image, 16 << 20)
with ordofs.open(image, "noatime") as volume:
    volume.mkdir("/notes")
    with volume.open("/notes/new", "w+b") as file:
        file.write(b"so much depends upon")
        file.fsync()  # durable
        file.seek(3)
        assert file.read(4) == b"much"
    volume.rename("/notes/new", "/notes/poem")
    volume.symlink("poem", "/notes/latest")
    for name in volume.listdir("/notes"):
        info = volume.stat(f"/notes/{name}", follow_symlinks=False)
        print(stat.filemode(info.st_mode), info.st_size, name)
    try:
        volume.rmdir("/notes")
    except OSError as error:
        print("rmdir:", error)
assert volume.closed
