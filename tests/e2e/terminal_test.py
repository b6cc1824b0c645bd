#!/usr/bin/env python3
"""On a terminal, progress is one line that is redrawn."""

import os
import pty
import re
import threading

from support import EndToEndTest, main, start, text_file

REDRAW = "\r\x1b[K"


class Terminal(EndToEndTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = text_file(os.path.join(cls.shared, "text"))

    def on_terminal(self, *command):
        """What a command shows on a terminal of its own, whose output's line ends are \\r\\n."""
        screen, end = pty.openpty()
        shown = bytearray()

        def read_screen():
            while True:
                try:
                    data = os.read(screen, 4096)
                except OSError:  # EIO: nobody has the other end any more
                    return
                shown.extend(data)

        job = start(command, self.folder, stdout=end)
        self.addCleanup(job.end)
        os.close(end)
        reader = threading.Thread(target=read_screen)
        reader.start()
        result = job.wait()
        reader.join()
        os.close(screen)
        self.assertEqual((result.code, result.err), (0, ""), str(result))
        return shown.decode()

    def check_bar(self, shown, steps):
        lines = shown.split(REDRAW)
        self.assertEqual(lines[0], "", shown)
        self.assertEqual(len(lines), steps + 1, shown)
        for step, line in enumerate(lines[1:], 1):
            bar, = re.findall(r"\[([= ]{24})\]", line)
            self.assertEqual(bar.count("="), 24 * step // steps, line)
            self.assertIn(f"step {step}/{steps}  loss ", line)
            self.assertIn(" tokens/s", line)
        # One line, which is ended at the end.
        self.assertEqual(shown.count("\n"), 1, repr(shown))
        self.assertTrue(shown.endswith("\n"), repr(shown))

    def test_an_executable_alone_redraws_one_line(self):
        executable = self.executable("bytes", 1, 4)
        self.check_bar(self.on_terminal(executable, "train", f"--data={self.text}", "--steps=6"), 6)

    def test_ranks_under_mpiexec_redraw_one_line(self):
        executable = self.executable("bytes", 2, 4)
        self.check_bar(self.on_terminal("mpiexec", "-n", 2, executable, "train", f"--data={self.text}", "--steps=5"),
                       5)

    def test_validation_losses_stay_on_the_screen(self):
        executable = self.executable("bytes", 1, 4)
        shown = self.on_terminal(executable, "train", f"--data={self.text}", "--steps=4", "--eval-every=2")
        kept = shown.split("\n")
        self.assertEqual(len(kept), 3, repr(shown))
        self.assertEqual(kept[2], "")
        for number, line in enumerate(kept[:2], 1):
            self.assertIn(f"step {2 * number}/4", line.split(REDRAW)[-1])
            self.assertIn("validation loss", line.split(REDRAW)[-1])


if __name__ == "__main__":
    main()
