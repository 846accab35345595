# Functions to source: a separate nginx on loopback for the benchmarks, with its files, in its own directory.
#
#   start_nginx DIR PORT   makes the files and the configuration in DIR and starts nginx on 127.0.0.1:PORT
#   stop_nginx DIR         stops that nginx and waits until it has exited
#
# It serves /small (100 bytes), /big (1 GB, sparse, with a few marks in it), /files/NNNN (3,000 files of 1 to 4 KB) and
# /status (nginx's own counts).

make_files() {
  local root=$1
  mkdir -p "$root/files"
  head -c 99 /dev/zero | tr '\0' x > "$root/small"
  echo >> "$root/small"
  truncate -s 1G "$root/big"
  python3 - "$root" <<'PYTHON'
import os, random, sys
root = sys.argv[1]
dice = random.Random(1)
with open(os.path.join(root, "big"), "r+b") as big:
  for mark in range(64):  # so that a piece in the wrong place changes the checksum
    big.seek((mark << 24) + dice.randrange(1 << 23))
    big.write(dice.randbytes(64))
for number in range(3000):
  with open(os.path.join(root, "files", "%04d" % number), "wb") as file:
    file.write(dice.randbytes(dice.randint(1024, 4096)))
PYTHON
}

start_nginx() {
  local dir=$1 port=$2 user=
  [ "$(id -u)" = 0 ] && user='user root;'
  make_files "$dir/root" || return
  mkdir -p "$dir/temp"
  cat > "$dir/nginx.conf" <<CONF
$user
worker_processes 1;
pid $dir/nginx.pid;
error_log $dir/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  keepalive_requests 100000000;
  keepalive_timeout 300s;
  default_type application/octet-stream;
  client_body_temp_path $dir/temp;
  proxy_temp_path $dir/temp;
  fastcgi_temp_path $dir/temp;
  uwsgi_temp_path $dir/temp;
  scgi_temp_path $dir/temp;
  server {
    listen 127.0.0.1:$port;
    root $dir/root;
    location = /status { stub_status; }
  }
}
CONF
  nginx -p "$dir" -c "$dir/nginx.conf" -e "$dir/error.log"
}

stop_nginx() {
  local dir=$1 pid
  [ -s "$dir/nginx.pid" ] || return 0
  pid=$(cat "$dir/nginx.pid")
  kill "$pid" 2>/dev/null || return 0
  for _ in $(seq 100); do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 0.05
  done
  echo "nginx $pid does not end" >&2
  return 1
}
