"""Documents as files: one module per format, with functions from a `document.Document` to the file's content.

Text in a document is plain; each writer escapes what its format would read as markup.  Every file has the document's
head: what is needed to reproduce it.
"""
