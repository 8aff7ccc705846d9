# folder.sh -- model folders exchanged with transformers, where it is installed.
built=$(pwd)
. "$srcdir/tests/tap.sh"
python=${PYTHON:-python3}
"$python" -c 'import torch, transformers, safetensors' 2>/dev/null \
  || skip_all "no transformers for $python"
PYTHONDONTWRITEBYTECODE=1 "$python" "$srcdir/tests/interop/folder.py" "$built/tests/interop/folder"
