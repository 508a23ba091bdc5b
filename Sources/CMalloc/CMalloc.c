// A C target needs one source file; the declarations are all in the header.
