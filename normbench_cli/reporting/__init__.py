"""From recorded runs to tables, files and plots.  Never imports torch: a report never waits for torch to load.

A report is made in one straight line::

    ReportQuery              query       what the report is asked for
      -> Selection           selection   the runs that count, and their groups: the settings that vary make the groups
      -> values of metrics   report      each run's last value, or its value at a point of its schedule
      -> summary             tables      mean, sd, n, minimum, maximum, 95 % interval of each group and metric
      -> Report              report      the table as text, its notes, and the curves that were asked for
      -> terminal and files  render      rows to print, JSON, Markdown, CSV; `plots` draws the curves

Where a curve comes from (a raw series by step, a metric by epoch, a score by the strength of an attack) is decided in
`curves` and `robustness`.  `tables` and `statistics/` are pure: DataFrames and numbers in, DataFrames and numbers out.
`reproduction/` compares the cells of suites with published numbers, and `claims/` judges what the papers state.
"""
