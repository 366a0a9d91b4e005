cd /tmp/w/h4; export OMP_NUM_THREADS=1
exec nice -n 19 .venv/bin/python -m transformer train --recipe recipes/ko-en.toml --output runs/ko-en
