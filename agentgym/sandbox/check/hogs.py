"""Programs that take all there is of something, and print as JSON how much they got."""

MEMORY = """
blocks, size = [], 4 << 20
while True:
    blocks.append(bytearray(b"x" * size))
    print(len(blocks) * size, flush=True)
"""

SHARED_MEMORY = """
import mmap
blocks, size = [], 4 << 20
while True:
    block = mmap.mmap(-1, size)
    block.write(b"x" * size)
    blocks.append(block)
    print(len(blocks) * size, flush=True)
"""

DISK = """
import errno, json, os, sys
block, size, name = os.urandom(1 << 16), 0, "none"
try:
    with open(sys.argv[1] + "/fill", "wb", buffering=0) as file:
        while size < 1 << 30:
            size += file.write(block)
except OSError as error:
    name = errno.errorcode[error.errno]
print(json.dumps([size, name]))
"""

FILES = """
import errno, json, os, sys
os.chdir(sys.argv[1])
made, name = 0, "none"
try:
    while made < 5000:
        if made % 2:
            os.mkdir(f"f{made}")
        else:
            os.close(os.open(f"f{made}", os.O_CREAT | os.O_WRONLY))
        made += 1
except OSError as error:
    name = errno.errorcode[error.errno]
print(json.dumps([made, name]))
"""

DESCRIPTORS = """
import errno, json, os, resource
held, name = [], "none"
try:
    while len(held) < 5000:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    name = errno.errorcode[error.errno]
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (5000, 5000))
    raised = True
except (OSError, ValueError):
    raised = False
print(json.dumps([held[-1] + 1, name, raised]))
"""

PROCESSES = """
import errno, json, os, signal, time
children, name = [], "none"
try:
    while len(children) < 5000:
        child = os.fork()
        if child == 0:
            time.sleep(600)
        children.append(child)
except OSError as error:
    name = errno.errorcode[error.errno]
for child in children:
    os.kill(child, signal.SIGKILL)
for child in children:
    os.waitpid(child, 0)
print(json.dumps([len(children), name]))
"""

THREADS = """
import json, os, threading, time
count = 0
try:
    while count < 5000:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        count += 1
except RuntimeError:
    pass
print(json.dumps(count), flush=True)
os._exit(0)
"""

PROCESSORS = """
import json, os, sys, time
end = time.monotonic() + float(sys.argv[1])
for _ in range(8):
    if os.fork() == 0:
        while time.monotonic() < end:
            pass
        os._exit(0)
for _ in range(8):
    os.wait()
print(json.dumps(sum(os.times()[:4])))
"""

WIDE_FOLDERS = """
import json, os, sys
most_bytes, most_files = map(int, sys.argv[1:])
def writable(folder):
    path = folder + "/agentgym-probe"
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.unlink(path)
    except OSError:
        return False
    return True
wide = []
for folder, folders, _ in os.walk("/"):
    if folder == "/":
        folders[:] = set(folders) - {"proc", "sys"}
    if os.access(folder, os.W_OK) and folder != "/dev/mqueue":  # has limits of another sort
        room = os.statvfs(folder)
        size = room.f_blocks * room.f_frsize
        if not 0 < size <= most_bytes or not 0 < room.f_files <= most_files:
            if writable(folder):
                wide.append([folder, size, room.f_files])
print(json.dumps(wide[:20]))
"""
