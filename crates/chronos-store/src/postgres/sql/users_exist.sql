-- Whether there is any user.
SELECT EXISTS (SELECT 1 FROM chronos.users)
