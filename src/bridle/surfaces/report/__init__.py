"""A session as one page: what happened when, what it cost, what closed it, what it changed."""
