#!/usr/bin/env python3
"""Cuts the structures that the tests read out of whole volumes: extract.py OUTDIR IMAGE...

For NAME.img: NAME.sb superblock, NAME.cg0 and NAME.cgN first and last group, NAME.cs summary array, NAME.inodes the
first 16 inodes, NAME.root the first 512 bytes of the root directory, NAME.ea the attributes of the file "xattrs".
"""
import os, struct, sys

out = sys.argv[1]
for path in sys.argv[2:]:
    image, name = open(path, "rb").read(), os.path.basename(path)[: -len(".img")]
    orders = {b"\x19\x01\x54\x19": "<", b"\x19\x54\x01\x19": ">", b"\x54\x19\x01\x00": "<", b"\x00\x01\x19\x54": ">"}
    sb = next(at for at in (65536, 8192) if image[at + 1372 : at + 1376] in orders)
    e = orders[image[sb + 1372 : sb + 1376]]
    ufs2 = image[sb + 1372 : sb + 1376] in (b"\x19\x01\x54\x19", b"\x19\x54\x01\x19")
    word = lambda at, kind="i": struct.unpack_from(e + kind, image, sb + at)[0]
    cblkno, iblkno, ncg, fsize, fpg = word(12), word(16), word(44), word(52), word(188)
    sbsize, cgsize = word(104), word(160)
    csaddr = word(1096, "q") if ufs2 else word(152)
    dinode, db, wide = (256, 112, "q") if ufs2 else (128, 40, "i")

    def put(kind, at, size):
        open(f"{out}/{name}.{kind}", "wb").write(image[at : at + size])

    put("sb", sb, sbsize)
    put("cg0", cblkno * fsize, cgsize)
    put("cgN", ((ncg - 1) * fpg + cblkno) * fsize, cgsize)
    put("cs", csaddr * fsize, 16 * ncg)
    inodes = iblkno * fsize
    put("inodes", inodes, 16 * dinode)
    root = struct.unpack_from(e + wide, image, inodes + 2 * dinode + db)[0] * fsize
    put("root", root, 512)
    at = 0
    while ufs2 and at < 512:
        ino, reclen, _, length = struct.unpack_from(e + "IHBB", image, root + at)
        if image[root + at + 8 : root + at + 8 + length] == b"xattrs":
            place = inodes + ino * dinode
            size = struct.unpack_from(e + "I", image, place + 92)[0]
            put("ea", struct.unpack_from(e + "q", image, place + 96)[0] * fsize, size)
        at += reclen
