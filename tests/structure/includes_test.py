#!/usr/bin/env python3
"""Plants violations in a small source tree and sees that includes.py names each."""
import unittest

import includes
import source_tree


class Includes(source_tree.PlantedTree):
    faults_of = staticmethod(includes.violations)

    def setUp(self):
        super().setUp()
        self.write("base/text.h", "#pragma once\n#include <string>\n")
        self.write("spec/job.h", '#include "base/text.h"\n')
        self.write("run/run.h", '#include "base/text.h"\n')
        self.write("engine/sweep.h", '#include "spec/job.h"\n#include "run/run.h"\n')
        self.write("engine/CMakeLists.txt", "ergometer_folder(engine\n  SOURCES sweep.cpp  # cli\n  LINKS cost run)\n")

    def test_a_clean_tree_passes(self):
        self.expect()

    def test_an_arrow_to_the_right_is_named_with_its_line(self):
        self.write("spec/job.cpp", '#include "spec/job.h"\n\n  #  include "engine/sweep.h"\n')
        self.expect('src/spec/job.cpp:3: "engine/sweep.h": spec may not include engine, only base')

    def test_angle_brackets_do_not_hide_it(self):
        self.write("base/text.cpp", "#include <spec/job.h>\n")
        self.expect('src/base/text.cpp:1: "spec/job.h": base may not include spec, only nothing')

    def test_the_run_knows_only_base(self):
        self.write("run/file.cpp", '#include "spec/job.h"\n')
        self.write("plan/plan.cpp", '#include "run/run.h"\n')
        self.expect(
            'src/plan/plan.cpp:1: "run/run.h": plan may not include run, only base, spec, workload',
            'src/run/file.cpp:1: "spec/job.h": run may not include spec, only base')

    def test_tests_keep_the_direction_too(self):
        self.write("spec/job_test.cpp", '#include "engine/sweep.h"\n')
        self.assertEqual(len(includes.violations(self.source)), 1)

    def test_a_folder_must_be_named_and_the_file_exist(self):
        self.write("spec/job.cpp", '#include "job.h"\n#include "spec/none.h"\n#include "nowhere/a.h"\n')
        self.expect(
            'src/spec/job.cpp:1: "job.h": name the folder too, "spec/job.h"',
            'src/spec/job.cpp:2: "spec/none.h": no such file',
            'src/spec/job.cpp:3: "nowhere/a.h": there is no folder src/nowhere')

    def test_an_unknown_folder_is_refused(self):
        self.write("extra/a.h", "")
        self.expect("extra: a folder without a place in the chain of includes.py")

    def test_heavy_headers_stay_in_their_cpp_files(self):
        self.write("spec/read.h", "#include <nlohmann/json.hpp>\n#include <nlohmann/json_fwd.hpp>\n")
        self.write("engine/sweep.cpp", "#include <yaml-cpp/yaml.h>\n")
        self.write("engine/sweep_test.cpp", "#include <nlohmann/json.hpp>\n#include <sqlite3.h>\n")
        self.expect(
            "src/engine/sweep.cpp:1: <yaml-cpp/yaml.h>: only intake, spec may use it",
            "src/engine/sweep_test.cpp:2: <sqlite3.h>: only run may use it",
            "src/spec/read.h:1: <nlohmann/json.hpp>: slow to compile, include it in a .cpp file")

    def test_links_keep_the_direction(self):
        self.write("plan/CMakeLists.txt", "ergometer_folder(plan\n  SOURCES a.cpp\n  LINKS workload\n    engine\n  LIBRARIES x)\n")
        self.expect("src/plan/CMakeLists.txt: links engine: plan may link only base, spec, workload")


if __name__ == "__main__":
    unittest.main()
