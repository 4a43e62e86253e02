# SPDX-License-Identifier: Apache-2.0
import sys

sys.path.remove("/usr/lib/vitrine/shadow")  # `pip._vendor` is the image's
sys.modules.pop("pip", None)

from vitrine_runtime.pip_program import main  # noqa: E402

sys.exit(main("pip", sys.argv[1:]))
