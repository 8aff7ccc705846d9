# Pages are made from --help; man/TOOL.h2m adds what --help cannot say.
# Without help2man the copies shipped in the tarball are installed as they are.
