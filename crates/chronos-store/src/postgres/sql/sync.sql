-- Writes next to nothing to the log, so that the commit of it makes everything before it durable.
SELECT pg_logical_emit_message(true, 'chronos', '')::text
