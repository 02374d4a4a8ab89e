"""The commands of SLURM, as far as submitit uses them: jobs are processes of this machine."""

from __future__ import annotations

from pathlib import Path

SBATCH = r"""
state=$(dirname "$0")/../state
id=$(( $(cat "$state/last") + 1 )); echo "$id" > "$state/last"
script="$state/$id.sh"; cp "${!#}" "$script"
last=$(sed -n 's/^#SBATCH --array=0-\([0-9]*\).*/\1/p' "$script")
start() {  # name, then variables
    name=$1; shift
    env "$@" setsid bash -c 'echo $$ > "$1/$2.pid"; bash "$1/$3.sh"; mv "$1/$2.pid" "$1/$2.ended"' \
        _ "$state" "$name" "$id" >/dev/null 2>&1 </dev/null &
}
if [ -n "$last" ]; then
    for n in $(seq 0 "$last"); do
        start "${id}_$n" SLURM_JOB_ID="$id" SLURM_ARRAY_JOB_ID="$id" SLURM_ARRAY_TASK_ID="$n"
    done
else
    start "$id" SLURM_JOB_ID="$id"
fi
echo "Submitted batch job $id"
"""
SRUN = r"""
name() { echo "$1" | sed "s/%j/$SLURM_JOB_ID/; s/%A/$SLURM_ARRAY_JOB_ID/; s/%a/$SLURM_ARRAY_TASK_ID/; s/%t/0/"; }
out=$(name "$3"); err=$(name "$5"); shift 5
exec "$@" >>"$out" 2>>"$err"
"""
SACCT = r"""
state=$(dirname "$0")/../state
echo "JobID|State|NodeList"
for file in "$state"/*.pid "$state"/*.ended; do
    job=$(basename "${file%.*}")
    case "$file" in
        *.ended) echo "$job|COMPLETED|here" ;;
        *.pid) kill -0 "$(cat "$file")" 2>/dev/null && echo "$job|RUNNING|here" || echo "$job|NODE_FAIL|here" ;;
    esac
done 2>/dev/null
"""
SCANCEL = r"""
kill -TERM -- "-$(cat "$(dirname "$0")/../state/$1.pid")"
"""


def make_slurm(folder: Path) -> Path:
    """Write the commands; the folder that belongs into PATH."""
    (folder / "bin").mkdir(parents=True)
    (folder / "state").mkdir()
    (folder / "state" / "last").write_text("100")
    for name, script in {"sbatch": SBATCH, "srun": SRUN, "sacct": SACCT, "scancel": SCANCEL}.items():
        file = folder / "bin" / name
        file.write_text(f"#!/bin/bash\n{script}")
        file.chmod(0o755)
    return folder / "bin"
