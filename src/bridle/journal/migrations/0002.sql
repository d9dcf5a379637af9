-- The budgets of accounts, in the order in which they were set: the last one of an account holds.
CREATE TABLE budget (
    number INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    at REAL NOT NULL,
    budget BLOB NOT NULL
) STRICT;
CREATE INDEX budget_account ON budget (account, number);
