"""Store remarks, silences and actions of people on findings.

1. **remark** (`remarks`): acknowledge a finding, mark it as right or false, or add a note. The state of the finding is kept
with the remark, so that marked findings are labelled data;
2. **keep** (`remark_journal`): append remarks to the store;
3. **act** (`actions`, `action_runner`): propose an action, let a person approve it, and post it to a hook, signed, as a dry run
by default. Each change of its state is kept.
"""
