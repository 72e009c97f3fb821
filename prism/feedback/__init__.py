"""What people do about findings: remarks, silences and actions.

1. **remark** (`remarks`): somebody acknowledges a finding, says that it is right or false, or notes something; what was known
   then is kept with it, so that marked findings are labelled data;
2. **keep** (`remark_journal`): remarks are in the store, and only ever added to;
3. **act** (`actions`, `action_runner`): an action is proposed, approved by a person, and posted to a hook, signed, as a dry
   run by default; each change of its state is kept.
"""
