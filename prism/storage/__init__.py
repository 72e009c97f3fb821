"""Store state in the store and in files: jobs and cases of the live analysis, histories, boards, notifications, flow
records.
"""
