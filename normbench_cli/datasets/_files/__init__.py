"""Which files a data set reads, and a digest of their contents, without importing torch.

A data set that reads files names a function of `places.py` in its decorator, as the fact ``files``.  The function takes
the data set's parameters and lists the files and folders that loading it reads, or nothing if any of them is missing.

    places.py    where the files of each data set are
    contents.py  contents_of: a digest of files and folders, equal for equal data sets
    hashes.py    the hash of a file, cached in the home folder until the file changes
    reading.py   read_contents, cached_contents: the files of a data set's spec
"""
