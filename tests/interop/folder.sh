# folder.sh -- model folders exchanged with transformers, where it is installed.
# SPDX-License-Identifier: Apache-2.0
built=$(pwd)
. "$srcdir/tests/tap.sh"
python=${PYTHON:-python3}
"$python" -c 'import torch, transformers, safetensors' 2>/dev/null \
  || skip_all "no transformers for $python"
PYTHONDONTWRITEBYTECODE=1 "$python" "$srcdir/tests/interop/folder.py" "$built/tests/interop/folder"
