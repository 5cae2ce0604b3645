#!/usr/bin/env python3
"""Cuts the structures that the tests read out of a volume of LFS version 2: extract_lfs.py OUTDIR IMAGE

For NAME.img: NAME.sb the superblock, NAME.sb2 its third copy (as newfs left it), NAME.ifile the contents of the ifile,
NAME.seg1 segment 1 (written by newfs and then by a kernel), NAME.end the log from the segment before the current one.
"""
import os, struct, sys

out, path = sys.argv[1:]
image, name = open(path, "rb").read(), os.path.basename(path)[: -len(".img")]
e = "<" if image[8192:8196] == b"\x62\x01\x07\x00" else ">"
word = lambda at: struct.unpack_from(e + "I", image, 8192 + at)[0]
bsize, fsize, idaddr, lastseg, offset = word(20), word(24), word(52), word(60), word(72)
fsbpseg, nindir, third, ibsize = word(96), word(112), word(196), word(344)


def put(kind, data):
    open(f"{out}/{name}.{kind}", "wb").write(data)


put("sb", image[8192 : 8192 + 512])
put("sb2", image[third * fsize : third * fsize + 512])
put("seg1", image[fsbpseg * fsize : 2 * fsbpseg * fsize])
put("end", image[lastseg * fsize : offset * fsize])
block = image[idaddr * fsize : idaddr * fsize + ibsize]
slots = [block[at : at + 128] for at in range(0, ibsize, 128)]
inode = [slot for slot in slots if struct.unpack_from(e + "I", slot, 4)[0] == 1][-1]
pointers = list(struct.unpack_from(e + "12I", inode, 40))
single = struct.unpack_from(e + "I", inode, 88)[0] * fsize
pointers += struct.unpack_from(e + f"{nindir}I", image, single)
blocks = struct.unpack_from(e + "Q", inode, 8)[0] // bsize
put("ifile", b"".join(image[p * fsize : p * fsize + bsize] for p in pointers[:blocks]))
