# SPDX-License-Identifier: Apache-2.0
# K03: clone3 with any arguments, while threads still work
# made: ENOSYS
# thread: ran
import struct
import threading

from tools import AT, call, tell

made = [call(435, AT, size) for size in (0, 64, 88, 1 << 20)]
made += [call(435, struct.pack("<11Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0), 88)]
ran = []
thread = threading.Thread(target=lambda: ran.append("ran"))
thread.start()
thread.join()
tell(made=made, thread=ran)
