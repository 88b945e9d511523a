/**
 * Pairs of problems that have nothing in common but an error. The model of these is driven by a rule: its first try
 * runs into the error; its second is right only if its prompt holds the remark of the other problem's solution, which
 * nothing but a crystal can bring there; its third is right in any case.
 */
import type { Task, Try } from './problems.ts';

interface Half {
  readonly problem: string;
  readonly tests: string;
  readonly naive: string;
  readonly right: string;
}

interface ErrorPair {
  readonly error: string;
  /** Stands in both solutions and nowhere else. */
  readonly remark: string;
  readonly first: Half;
  readonly second: Half;
}

export function firstHalf(pair: ErrorPair): Task {
  return taskOf(pair, pair.first, 'first');
}

export function secondHalf(pair: ErrorPair): Task {
  return taskOf(pair, pair.second, 'second');
}

function taskOf({ error, remark }: ErrorPair, half: Half, place: string): Task {
  const right: Try = { code: `${half.right}\n# ${remark}\n`, reflection: 'Nothing to add.' };
  const name = /def (\w+)/.exec(half.right)?.[1] ?? '';
  const detour = `def ${name}(*given):\n    for one in given:\n        print(type(one), end="")\n    return None\n`;
  return {
    name: `${error}, ${place}`,
    problem: half.problem,
    tests: half.tests,
    answer(attempt, prompt) {
      if (attempt === 1) return { code: half.naive, reflection: `It ran into ${error}.` };
      const knows = attempt > 2 || prompt.includes(remark);
      return knows ? right : { code: detour, reflection: 'That was a detour.' };
    },
  };
}

export const errorPairs: readonly ErrorPair[] = [
  {
    error: 'ZeroDivisionError',
    remark: 'an empty input is answered before anything is divided',
    first: {
      problem: 'mean(numbers): the arithmetic mean of temperatures, 0 when none were taken.',
      tests: 'assert mean([1, 2, 3]) == 2\nassert mean([]) == 0',
      naive: 'def mean(numbers):\n    return sum(numbers) / len(numbers)',
      right: 'def mean(numbers):\n    return sum(numbers) / len(numbers) if numbers else 0',
    },
    second: {
      problem: 'vowel_share(word): which part of the letters of a word are vowels.',
      tests: 'assert vowel_share("abec") == 0.5\nassert vowel_share("") == 0',
      naive: 'def vowel_share(word):\n    return sum(c in "aeiou" for c in word) / len(word)',
      right: 'def vowel_share(word):\n    return sum(c in "aeiou" for c in word) / len(word) if word else 0',
    },
  },
  {
    error: 'RecursionError',
    remark: 'a loop with its own stack instead of calls',
    first: {
      problem: 'depth(nested): how deep lists lie within lists.',
      tests:
        'deep = []\nfor _ in range(50000):\n    deep = [deep]\nassert depth(deep) == 50001\nassert depth([]) == 1',
      naive: 'def depth(nested):\n    return 1 + max((depth(one) for one in nested), default=0)',
      right:
        'def depth(nested):\n    level, here = 0, [nested]\n    while here:\n        level += 1\n        here = [inner for one in here for inner in one]\n    return level',
    },
    second: {
      problem: 'steps(stairs): ways to climb stairs, one or two at a time, modulo 1000.',
      tests: 'assert steps(4) == 5\nassert steps(40000) >= 0',
      naive:
        'def steps(stairs):\n    return 1 if stairs < 2 else (steps(stairs - 1) + steps(stairs - 2)) % 1000 if stairs < 20 else steps(stairs - 1) % 1000',
      right:
        'def steps(stairs):\n    a, b = 1, 1\n    for _ in range(stairs):\n        a, b = b, (a + b) % 1000\n    return a',
    },
  },
  {
    error: "AttributeError: 'NoneType' object has no attribute 'group'",
    remark: 'the match is looked at before its group is taken',
    first: {
      problem: 'year_in(text): the first year with four digits in a sentence, or None.',
      tests: 'assert year_in("born 1984") == "1984"\nassert year_in("born") is None',
      naive: 'import re\ndef year_in(text):\n    return re.search(r"\\d{4}", text).group()',
      right:
        'import re\ndef year_in(text):\n    found = re.search(r"\\d{4}", text)\n    return found.group() if found else None',
    },
    second: {
      problem: 'suffix(path): the text after the last dot of a file name, empty without a dot.',
      tests: 'assert suffix("a.txt") == "txt"\nassert suffix("Makefile") == ""',
      naive: 'import re\ndef suffix(path):\n    return re.search(r"\\.(\\w+)$", path).group(1)',
      right:
        'import re\ndef suffix(path):\n    found = re.search(r"\\.(\\w+)$", path)\n    return found.group(1) if found else ""',
    },
  },
  {
    error: "TypeError: unhashable type: 'list'",
    remark: 'a tuple of each one can be hashed',
    first: {
      problem: 'distinct(rows): how many different rows a table has.',
      tests: 'assert distinct([[1, 2], [1, 2], [3, 4]]) == 2',
      naive: 'def distinct(rows):\n    return len(set(rows))',
      right: 'def distinct(rows):\n    return len({tuple(row) for row in rows})',
    },
    second: {
      problem: 'favourite(moves): the chess move, as start and end, that was made most often.',
      tests: 'assert favourite([["e2", "e4"], ["d2", "d4"], ["e2", "e4"]]) == ["e2", "e4"]',
      naive:
        'from collections import Counter\ndef favourite(moves):\n    return Counter(moves).most_common(1)[0][0]',
      right:
        'from collections import Counter\ndef favourite(moves):\n    return list(Counter(tuple(m) for m in moves).most_common(1)[0][0])',
    },
  },
  {
    error: "TypeError: 'float' object cannot be interpreted as an integer",
    remark: 'two slashes keep it a whole number',
    first: {
      problem: 'rungs(height): the heights of the rungs of a ladder, one every two units.',
      tests: 'assert rungs(6) == [0, 2, 4]',
      naive: 'def rungs(height):\n    return [2 * i for i in range(height / 2)]',
      right: 'def rungs(height):\n    return [2 * i for i in range(height // 2)]',
    },
    second: {
      problem: 'mirrored(word): whether a word reads the same from behind.',
      tests: 'assert mirrored("anna")\nassert not mirrored("anno")',
      naive: 'def mirrored(word):\n    return all(word[i] == word[-1 - i] for i in range(len(word) / 2))',
      right: 'def mirrored(word):\n    return all(word[i] == word[-1 - i] for i in range(len(word) // 2))',
    },
  },
  {
    error: 'UnicodeDecodeError',
    remark: 'text that is not UTF-8 is read as Latin-1',
    first: {
      problem: 'lines_of(content): the lines of a log file that was given as bytes.',
      tests: 'assert lines_of(b"a\\nb") == ["a", "b"]\nassert lines_of(b"\\xe9") == ["\\u00e9"]',
      naive: 'def lines_of(content):\n    return content.decode("utf-8").splitlines()',
      right:
        'def lines_of(content):\n    try:\n        return content.decode("utf-8").splitlines()\n    except UnicodeDecodeError:\n        return content.decode("latin-1").splitlines()',
    },
    second: {
      problem: 'greeting(name): "Hello" and the name of a guest, as a server received it from a socket.',
      tests: 'assert greeting(b"Ann") == "Hello Ann"\nassert greeting(b"Ren\\xe9") == "Hello Ren\\u00e9"',
      naive: 'def greeting(name):\n    return "Hello " + name.decode("utf-8")',
      right:
        'def greeting(name):\n    try:\n        return "Hello " + name.decode("utf-8")\n    except UnicodeDecodeError:\n        return "Hello " + name.decode("latin-1")',
    },
  },
  {
    error: "ValueError: invalid literal for int() with base 10: ''",
    remark: 'empty pieces are left out before they are read',
    first: {
      problem: 'total(row): the total of a row of amounts with commas in between, some of them missing.',
      tests: 'assert total("1,2,,3") == 6',
      naive: 'def total(row):\n    return sum(int(piece) for piece in row.split(","))',
      right: 'def total(row):\n    return sum(int(piece) for piece in row.split(",") if piece)',
    },
    second: {
      problem: 'newest(versions): the highest build number in a text such as "7;12;".',
      tests: 'assert newest("7;12;") == 12',
      naive: 'def newest(versions):\n    return max(int(one) for one in versions.split(";"))',
      right: 'def newest(versions):\n    return max(int(one) for one in versions.split(";") if one)',
    },
  },
  {
    error: "ModuleNotFoundError: No module named 'pendulum'",
    remark: 'datetime of the standard library is enough',
    first: {
      problem: 'days_between(a, b): days from one ISO date to another.',
      tests: 'assert days_between("2024-02-28", "2024-03-01") == 2',
      naive:
        'import pendulum\ndef days_between(a, b):\n    return (pendulum.parse(b) - pendulum.parse(a)).days',
      right:
        'from datetime import date\ndef days_between(a, b):\n    return (date.fromisoformat(b) - date.fromisoformat(a)).days',
    },
    second: {
      problem:
        'is_weekend(day): whether a shop that closes on Saturday and Sunday is closed on that ISO day.',
      tests: 'assert is_weekend("2024-03-02")\nassert not is_weekend("2024-03-01")',
      naive: 'import pendulum\ndef is_weekend(day):\n    return pendulum.parse(day).day_of_week in (5, 6)',
      right:
        'from datetime import date\ndef is_weekend(day):\n    return date.fromisoformat(day).weekday() > 4',
    },
  },
];
