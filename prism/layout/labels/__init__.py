"""Label collectives and pipelines one by one: data, tensor, pipeline, expert and context parallel groups.

`parallelism` is the entry. `pipelines` finds who hands over to whom, `collective_kinds` what each collective is for,
`dimensions` the sizes that follow.
"""
