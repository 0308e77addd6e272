//! What programs read as code: which of their arguments, and which files beside.

/// A program that executes a file that is named to it.
pub(super) struct Interpreter {
    pub(super) names: &'static [&'static str],
    /// Options whose value is code; what follows is data.
    pub(super) code: &'static [&'static str],
    /// Options with a value of their own.
    pub(super) valued: &'static [&'static str],
    /// Options whose value is a file of code.
    pub(super) files: &'static [&'static str],
    /// Words in front of the file.
    pub(super) subs: &'static [&'static str],
    /// Whether only options name code, and all else is data.
    pub(super) by_option: bool,
}

const PLAIN: Interpreter = Interpreter {
    names: &[],
    code: &[],
    valued: &[],
    files: &[],
    subs: &[],
    by_option: false,
};

/// Everything but shells and Python, whose arguments have rules of their own.
pub(super) const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: &["node", "nodejs"],
        code: &["-e", "--eval", "-p", "--print", "-pe"],
        valued: &["-C", "--conditions", "--env-file"],
        files: &[
            "-r",
            "--require",
            "--import",
            "--loader",
            "--experimental-loader",
        ],
        ..PLAIN
    },
    Interpreter {
        names: &["deno", "bun"],
        code: &["-e", "--eval", "eval"],
        valued: &["--cwd", "--env-file", "-c", "--config"],
        files: &["-r", "--preload", "--import-map"],
        subs: &["run", "test", "x", "exec", "bench"],
        ..PLAIN
    },
    Interpreter {
        names: &["ruby"],
        code: &["-e"],
        valued: &["-I", "-C", "-E"],
        files: &["-r"],
        ..PLAIN
    },
    Interpreter {
        names: &["perl"],
        code: &[
            "-e", "-E", "-ne", "-pe", "-le", "-lne", "-lpe", "-0ne", "-0pe",
        ],
        valued: &["-I"],
        ..PLAIN
    },
    Interpreter {
        names: &["php", "lua", "Rscript", "tclsh", "expect", "osascript"],
        code: &["-e", "-r", "-c"],
        ..PLAIN
    },
    Interpreter {
        names: &["pwsh"],
        code: &["-c", "-Command"],
        files: &["-f", "-File"],
        ..PLAIN
    },
    Interpreter {
        names: &["bats", "tsx", "ts-node"],
        code: &["-e", "--eval"],
        valued: &["-j", "--jobs", "-f", "--filter", "-F", "--formatter"],
        ..PLAIN
    },
    Interpreter {
        names: &["awk", "gawk", "mawk", "sed", "jq"],
        files: &["-f", "--file", "--from-file"],
        by_option: true,
        ..PLAIN
    },
];

/// A program that executes what files say whose names it knows.
pub(super) struct Runner {
    pub(super) names: &'static [&'static str],
    /// The files, below the folder in which it works.
    pub(super) reads: &'static [&'static str],
    /// Options that name another folder.
    pub(super) folder: &'static [&'static str],
    /// Options that name another file.
    pub(super) file: &'static [&'static str],
}

/// The runners, but for git.
pub(super) const RUNNERS: &[Runner] = &[
    Runner {
        names: &["make", "gmake"],
        reads: &["GNUmakefile", "makefile", "Makefile"],
        folder: &["-C", "--directory"],
        file: &["-f", "--file", "--makefile"],
    },
    Runner {
        names: &["just"],
        reads: &["justfile", "Justfile", ".justfile"],
        folder: &["-d", "--working-directory"],
        file: &["-f", "--justfile"],
    },
    Runner {
        names: &["npm", "npx", "yarn", "pnpm", "bun", "bunx"],
        reads: &[
            "package.json",
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".pnp.cjs",
            ".pnpmfile.cjs",
            "bunfig.toml",
        ],
        folder: &["-C", "--prefix", "--cwd", "--dir"],
        file: &[],
    },
    Runner {
        names: &["deno"],
        reads: &["deno.json", "deno.jsonc"],
        folder: &[],
        file: &["-c", "--config"],
    },
    Runner {
        names: &["pytest", "py.test"],
        reads: &[
            "conftest.py",
            "pytest.ini",
            ".pytest.ini",
            "pyproject.toml",
            "setup.cfg",
            "tox.ini",
        ],
        folder: &["--rootdir"],
        file: &["-c", "--config-file"],
    },
    Runner {
        names: &["tox", "nox"],
        reads: &["tox.ini", "setup.cfg", "pyproject.toml", "noxfile.py"],
        folder: &[],
        file: &["-c", "-f", "--noxfile"],
    },
    Runner {
        names: &["cargo"],
        reads: &[
            ".cargo/config.toml",
            ".cargo/config",
            "rust-toolchain.toml",
            "rust-toolchain",
        ],
        folder: &["-C"],
        file: &["--config"],
    },
    Runner {
        names: &["rake"],
        reads: &["Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb"],
        folder: &["-C", "--directory"],
        file: &["-f", "--rakefile"],
    },
    Runner {
        names: &["task"],
        reads: &[
            "Taskfile.yml",
            "Taskfile.yaml",
            "taskfile.yml",
            "taskfile.yaml",
        ],
        folder: &["-d", "--dir"],
        file: &["-t", "--taskfile"],
    },
    Runner {
        names: &["gradle", "gradlew"],
        reads: &[
            "build.gradle",
            "build.gradle.kts",
            "settings.gradle",
            "settings.gradle.kts",
            "gradle.properties",
        ],
        folder: &["-p", "--project-dir"],
        file: &["-b", "-I", "--init-script"],
    },
    Runner {
        names: &["mvn", "mvnw"],
        reads: &[
            "pom.xml",
            ".mvn/maven.config",
            ".mvn/jvm.config",
            ".mvn/extensions.xml",
        ],
        folder: &[],
        file: &["-f", "--file"],
    },
    Runner {
        names: &["jest", "vitest", "mocha"],
        reads: &[
            "package.json",
            "jest.config.js",
            "jest.config.ts",
            "jest.config.mjs",
            "jest.config.cjs",
            "jest.config.json",
            "vitest.config.js",
            "vitest.config.ts",
            "vite.config.js",
            "vite.config.ts",
            ".mocharc.js",
            ".mocharc.cjs",
            ".mocharc.json",
            ".mocharc.yml",
        ],
        folder: &["--rootDir", "--root", "--dir"],
        file: &["-c", "--config"],
    },
];

/// A program that executes the command that follows its own options.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Options with a value of their own.
    pub(super) valued: &'static [&'static str],
    /// How many words stand between the options and the command.
    pub(super) words: usize,
}

const fn wrapper(name: &'static str, valued: &'static [&'static str], words: usize) -> Wrapper {
    Wrapper {
        name,
        valued,
        words,
    }
}

/// The wrappers.
pub(super) const WRAPPERS: &[Wrapper] = &[
    wrapper("env", &["-u", "--unset", "-C", "--chdir"], 0),
    wrapper("timeout", &["-s", "--signal", "-k", "--kill-after"], 1),
    wrapper("nice", &["-n", "--adjustment"], 0),
    wrapper("ionice", &["-c", "-n", "--class", "--classdata"], 0),
    wrapper("nohup", &[], 0),
    wrapper("setsid", &[], 0),
    wrapper("stdbuf", &["-i", "-o", "-e"], 0),
    wrapper("sudo", &["-u", "-g", "-C", "-D", "--user", "--group"], 0),
    wrapper("doas", &["-u", "-C"], 0),
    wrapper(
        "xargs",
        &["-I", "-n", "-P", "-L", "-d", "-a", "-s", "-E"],
        0,
    ),
    wrapper("time", &["-o", "-f"], 0),
    wrapper("flock", &["-w", "-E", "--timeout"], 1),
    wrapper("chronic", &[], 0),
    wrapper("command", &[], 0),
    wrapper("builtin", &[], 0),
    wrapper("exec", &["-a"], 0),
    wrapper("uv", &["--project", "--directory", "--with"], 1),
    wrapper("poetry", &["-C", "-P", "--project"], 1),
    wrapper("pipenv", &[], 1),
    wrapper("bundle", &[], 1),
];

/// Modules that Python programs import all the time, and that a file of the same name beside the
/// program, or in the working directory, would replace.
pub(super) const MODULES: &[&str] = &[
    "_pytest",
    "abc",
    "argparse",
    "ast",
    "asyncio",
    "base64",
    "bisect",
    "codecs",
    "collections",
    "contextlib",
    "copy",
    "csv",
    "ctypes",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "email",
    "encodings",
    "enum",
    "filecmp",
    "fnmatch",
    "fractions",
    "functools",
    "genericpath",
    "getopt",
    "glob",
    "gzip",
    "hashlib",
    "heapq",
    "html",
    "http",
    "importlib",
    "inspect",
    "io",
    "itertools",
    "json",
    "keyword",
    "linecache",
    "locale",
    "logging",
    "math",
    "numbers",
    "operator",
    "os",
    "pathlib",
    "pickle",
    "pkgutil",
    "platform",
    "pluggy",
    "posixpath",
    "pprint",
    "pytest",
    "random",
    "re",
    "reprlib",
    "runpy",
    "shlex",
    "shutil",
    "signal",
    "site",
    "sitecustomize",
    "socket",
    "sqlite3",
    "sre_compile",
    "sre_constants",
    "sre_parse",
    "ssl",
    "stat",
    "statistics",
    "string",
    "struct",
    "subprocess",
    "sysconfig",
    "tempfile",
    "textwrap",
    "threading",
    "tokenize",
    "tomllib",
    "traceback",
    "types",
    "typing",
    "unittest",
    "urllib",
    "usercustomize",
    "uuid",
    "warnings",
    "weakref",
    "xml",
    "yaml",
    "zipfile",
];
