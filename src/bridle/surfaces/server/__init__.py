"""HTTP server of the sessions of served directories: its application, access control and limits."""
