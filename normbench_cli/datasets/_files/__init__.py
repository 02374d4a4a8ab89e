"""Which files a data set reads, and what is in them, found out without torch.

A data set that reads files names a function of `places.py` in its decorator, as the fact ``files``.  The function takes
the data set's parameters and lists the files and folders that loading it reads, or nothing if they are not all there.

    places.py    where the files of each data set are
    contents.py  contents_of: a digest of files and folders, which says whether two data sets are the same
    hashes.py    the hash of a file, remembered in the home folder until the file changes
    look.py      look, last_look: the files that a spec names
"""
