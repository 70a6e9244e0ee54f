/** Finds patterns that let a test pass without testing anything. */
import { spawnSync } from 'node:child_process'
import { glob, readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { filesTogether } from './support/together.ts'

const root = import.meta.dirname
const own = relative(root, import.meta.filename)

/** The rules, each with lines that it must find and lines that it must ignore. */
const rules = [
  {
    why: 'A skipped test has not passed: give it `{ skip: reason }`, which CI counts as a failure.',
    pattern: /\.pass\([^\n]*skip|\.(?:skip|todo|only)\(|\b(?:skip|todo|only): true/i,
    found: [
      "t.pass('skipped: no disk')",
      "t.skip('no disk', async () => {})",
      "t.test('x', { skip: true }, f)",
      't.only(1)',
    ],
    fine: ["t.test('x', { skip: await refusal() }, f)", 't.pass(name)'],
  },
  {
    why: 'A poll without a deadline hangs without a message: use `until` or `eventually` of support/until.ts.',
    pattern:
      /\b(?:while|for) \((?![^\n]*(?:performance\.now\(\)|Date\.now\(\)|\w < [\d_]+))[^\n]*await (?:sleep|delay|new Promise)\b/,
    found: ['while (!done) await sleep(5)', 'for (let n = 1; n > 0; await delay(20)) n = left()'],
    fine: ['for (let waited = 0; !done && waited < 10_000; waited += 50) await sleep(50)'],
  },
  {
    why: 'A poll without a deadline over several lines.',
    pattern:
      /\b(?:for \(;;\)|while \(true\)) \{(?:(?!\n {0,2}\}|\.now\(\)|\buntil\b)[\s\S]){0,900}?await (?:sleep|delay)\(/,
    found: ['for (;;) {\n  if (done()) return\n  await sleep(20)\n}'],
    fine: ['for (;;) {\n  if (done()) return\n  if (Date.now() > end) throw late\n  await sleep(20)\n}'],
  },
]

/** The processes of `npm test`. Most of them take some seconds of processor time before their first test. */
const mostProcesses = 32

/** Files whose processes poll until another process exits. */
const exempt = new Set(['servers/run.ts', own])

const files = (await readdir(root, { recursive: true })).filter(name => name.endsWith('.ts') && !exempt.has(name))

t.test('each rule finds its examples', async t => {
  for (const { pattern, found, fine } of rules) {
    for (const text of found) t.match(text, pattern)
    for (const text of fine) t.notMatch(text, pattern)
  }
})

t.test('no test file breaks a rule', async t => {
  t.ok(files.length > 150)
  for (const { why, pattern } of rules) {
    const wrong: string[] = []
    for (const file of files) {
      const text = await readFile(join(root, file), 'utf8')
      for (const { index } of text.matchAll(new RegExp(pattern, `${pattern.flags}g`))) {
        wrong.push(`${file}:${text.slice(0, index).split('\n').length}`)
      }
    }
    t.same(wrong, [], why)
  }
})

t.test('npm test runs each file once, alone or together with others', async t => {
  const { include } = parse(await readFile(join(root, '../.taprc'), 'utf8'))
  const run: string[] = []
  for await (const name of glob(include, { cwd: join(root, '..') })) run.push(name)
  t.ok(run.length <= mostProcesses, `${run.length} processes: let new files run together with others`)
  const entries = run.filter(name => name.startsWith('test/_together/'))
  const [folders, parts] = [new Set<string>(), new Set<string>()]
  for (const entry of entries) {
    const [, list = '', part = '0', of = '1'] =
      /together\(\[([^\]]*)\](?:, (\d), (\d))?\)/.exec(await readFile(join(root, '..', entry), 'utf8')) ?? []
    for (const [, folder = ''] of list.matchAll(/'(.*?)'/g)) folders.add(folder)
    parts.add(`${list} ${part} of ${of}`)
  }
  for (const each of parts) {
    const of = Number(each.split(' ').at(-1))
    const list = each.split(' ').slice(0, -3).join(' ')
    for (let part = 0; part < of; part += 1) t.ok(parts.has(`${list} ${part} of ${of}`), `${list}: ${part} of ${of}`)
  }
  const together = (await Promise.all([...folders].map(filesTogether))).flat()
  const once = [
    ...run.filter(name => !entries.includes(name)),
    ...together.map(path => relative(join(root, '..'), path)),
  ]
  const wanted = files.filter(name => name.endsWith('.test.ts') && !/^(?:nightly|_together)\//.test(name))
  t.same(once.toSorted(), [`test/${own}`, ...wanted.map(name => `test/${name}`)].toSorted())
})

t.test('a file with tests of the night has some of the day', async t => {
  for (const file of files.filter(name => name.endsWith('.ts') && !name.startsWith('nightly/'))) {
    const text = await readFile(join(root, file), 'utf8')
    if (text.includes('atNight(t,')) t.match(text, /\bt\.test\(/, `${file}: otherwise it belongs into nightly/`)
  }
})

t.test('an uncaught error fails its file', async t => {
  const options = ['--import', join(root, 'support/replaced-modules.ts')]
  const { status, stdout } = spawnSync(process.execPath, [...options, join(root, 'fixtures/uncaught-errors.ts')])
  t.equal(status, 1)
  t.match(String(stdout), /^ *not ok .*thrown by a timer$/m)
  t.match(String(stdout), /^ *not ok .*rejected alone$/m)
})
