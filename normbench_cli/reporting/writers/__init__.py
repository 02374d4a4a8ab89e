"""Documents as files: one module a format, each a function from a `document.Document` to the file's content.

Text in a document is plain; each writer escapes what its format would read as markup.  Every file begins with the
document's head: what makes it again.
"""
