"""From recorded runs to tables, files and plots.  Never imports torch: a report never waits for torch to load.

A report is made in a straight pipeline::

    ReportQuery              query       what is requested
      -> Selection           selection   the selected runs, grouped by the settings that vary
      -> values of metrics   report      each run's last value, or its value at a point of its schedule
      -> summary             tables      mean, sd, n, minimum, maximum, 95 % interval of each group and metric
      -> comparisons         comparing   the best of each column; `paired_tests`: ties and differences to a baseline
      -> Report              report      groups, values and comparisons, notes, the requested curves
      -> Layout              layout      ordered rows, columns, cells as text (`spec_names`: specs side by side)
      -> Document            render      tables, figures and the head (`head`), for any file format; JSON rows
      -> files               files       `writers`: Markdown, LaTeX, CSV, JSON, parquet; `html`; `figures`, `plots`

Where a curve comes from (a raw series by step, a metric by epoch, a score by the strength of an attack) is decided in
`curves` and `robustness`.  `tables` and `statistics/` are pure: DataFrames and numbers in, DataFrames and numbers out.
`profiles/` compares recorded profiles: across dates, with an earlier one, solvers by passes.
`reproduction/` compares the cells of suites with published numbers, and `claims/` judges the papers' claims.
"""
