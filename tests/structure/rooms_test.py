#!/usr/bin/env python3
"""Plants faults in a small source tree and sees that rooms.py names each."""
import unittest

import rooms
import source_tree


class Rooms(source_tree.PlantedTree):
    faults_of = staticmethod(rooms.faults)

    def setUp(self):
        super().setUp()
        self.write("engine/time/sweep.h", "")
        self.write("engine/time/sweep.cpp", '#include "engine/time/sweep.h"\n')
        self.write("engine/power/power_loop.h", '#include "engine/time/sweep.h"\n')
        self.write("engine/simulate.h", '#include "engine/power/power_loop.h"\n')

    def test_a_divided_tree_passes(self):
        self.expect()

    def test_a_header_its_source_and_its_test_are_one_thing(self):
        for i in range(24):
            for name in (f"thing{i}.h", f"thing{i}.cpp", f"thing{i}_test.cpp"):
                self.write(f"engine/time/{name}", "")
        self.expect()
        self.write("engine/time/one_more.cpp", "")
        self.expect("src/engine/time: 26 things lie in one folder, at most 25 may: divide it by subject")

    def test_a_source_lies_beside_its_header(self):
        self.write("engine/sweep_test.cpp", "")
        self.expect("src/engine/sweep_test.cpp: its header is src/engine/time/sweep.h")

    def test_one_name_in_two_folders_is_two_things(self):
        self.write("search/sweep.cpp", "")
        self.expect()

    def test_a_circle_is_named_with_the_files_that_make_it(self):
        self.write("engine/time/steady.cpp", '#include "engine/simulate.h"\n')
        self.expect(
            "rooms include each other in a circle: src/engine by engine/simulate.h, src/engine/power by "
            "engine/power/power_loop.h, src/engine/time by engine/time/steady.cpp")

    def test_tests_may_include_any_room(self):
        self.write("engine/time/sweep_test.cpp", '#include "engine/simulate.h"\n')
        self.write("engine/time/test_job.h", '#include "engine/simulate.h"\n')
        self.expect()

    def test_a_table_names_its_rooms_and_is_asked_back(self):
        self.write("import/formats.h", "")
        self.write("import/formats.cpp", '#include "import/kineto/kineto.h"\n')
        self.write("import/kineto/kineto.h", '#include "import/formats.h"\n')
        self.expect()


if __name__ == "__main__":
    unittest.main()
