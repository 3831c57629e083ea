-- So many tokens, each larger than the one before.
SELECT nextval('chronos.tokens') FROM generate_series(1, $1)
