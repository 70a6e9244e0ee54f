/** The help and the completion, which are made from the declarations of the commands. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { commands } from '../../packages/cli/src/commands/index.ts'
import { isNight } from '../support/extent.ts'
import { main, runProgram } from '../support/program.ts'
import { commandLine } from './command-line.ts'

// By night, each command starts a process, which takes a second.
t.setTimeout(300_000)

t.test('bash completes commands, options and values', async t => {
  const cli = await commandLine(t)
  const script = join(cli.home, 'completion.bash')
  await writeFile(script, await cli.output('completion', 'bash'))
  /** Returns what bash offers for the last word. */
  const complete = async (...words: string[]) => {
    const typed = ['stowage', ...words].map(word => `'${word}'`).join(' ')
    const lines = [
      'set -u',
      `source '${script}'`,
      `COMP_WORDS=(${typed})`,
      `COMP_CWORD=${words.length}`,
      '_stowage',
      `printf '%s\\n' "\${COMPREPLY[@]}"`,
    ]
    const command = ['bash', '--norc', '-c', lines.join('\n')] as const
    const { status, stdout, stderr } = await runProgram({ environment: {}, command, cwd: cli.home })
    t.same([status, stderr], [0, ''], typed)
    return stdout.split('\n').filter(word => word !== '')
  }
  t.same(await complete('c'), ['cat', 'cp', 'copies', 'comment', 'completion'])
  t.ok((await complete('')).length > 10)
  t.same(await complete('jobs', 're'), ['resume', 'retry'])
  t.same(await complete('keys', ''), ['list', 'create', 'revoke'])
  t.same(await complete('cp', '--conf'), ['--conflict'])
  t.same(await complete('cp', '-r', 'a', '--conflict', ''), ['fail', 'replace', 'rename', 'skip', 'newer'])
  t.same(await complete('keys', 'create', 'x', '--scope', 'w'), ['write'])
  t.same(await complete('jobs', 'list', '--st'), ['--state'])
  t.same(await complete('cp', ''), [], 'then bash offers files')
  t.same(await complete('completion', 'z'), ['zsh'])
  t.same(await complete('cp', 'jobs', '--d'), ['--detach'], 'an operand is no command')
  const { stdout } = await runProgram({
    environment: {},
    command: ['bash', '--norc', '-c', `source '${script}'; complete -p stowage`],
  })
  t.equal(stdout, 'complete -o bashdefault -o default -F _stowage stowage\n')
})

t.test('zsh gets the same words', async t => {
  const cli = await commandLine(t)
  const script = await cli.output('completion', 'zsh')
  t.match(script, /^compdef _stowage stowage$/m)
  for (const { name, options } of commands) {
    for (const word of [...name.split(' '), ...Object.keys(options).map(option => `--${option}`)]) {
      t.ok(script.includes(word), word)
    }
  }
  t.match(await cli.run(['completion', 'fish']), { status: 2 })
})

t.test('every command has a help, and wrong command lines fail', async t => {
  const cli = await commandLine(t)
  const overview = await cli.output('--help')
  for (const { name } of commands) t.match(overview, new RegExp(`^ {2}${name}\\b`, 'm'))
  const helps = await Promise.all(['cp', 'jobs list', 'login'].map(name => cli.output(...name.split(' '), '--help')))
  t.match(helps[0], /^Usage: stowage cp \[options\] <source>\.\.\. <target>\n/)
  t.match(helps[0], /^ {2}-L, --follow-links +Copy what symbolic links/m)
  t.match(helps[0], '--json')
  t.match(helps[1], '--state <state>')
  t.match(await cli.output('jobs', '--help'), 'jobs wait <id>')
  for (const [args, message] of [
    [[], /Name a command/],
    [['fly'], /There is no command "fly"/],
    [['ls', '--fast'], /Unknown option '--fast'/],
    [['ls', 'Disk:/', 'Disk:/a'], /too many operands/],
    [['cp', 'a'], /An operand is missing\. Usage: stowage cp/],
    [['cp', '--conflict'], /argument missing/],
    [['cp', '--concurrency', '0', 'a', 'Disk:/'], /from 1 to 64/],
    [['cat', '--json', 'Disk:/a'], /Unknown option/],
    [['login', 'files.example.org'], /must be a URL/],
  ] as const) {
    t.match(await cli.run(args), { status: 2, stdout: '', stderr: message }, args.join(' '))
  }
})

t.test('the server has the same commands', async t => {
  const cli = await commandLine(t)
  const run = (...args: string[]) =>
    runProgram({ environment: cli.environment, command: [process.execPath, main, ...args], cwd: cli.home })
  const { status, stdout } = await run('--help')
  t.equal(status, 0)
  t.match(stdout, /^Usage: stowage +start the server$/m)
  t.match(stdout, /^ {2}cp <source>/m)
  t.match(await run('whoami'), { status: 3, stderr: /You are not signed in/ })
  if (isNight) t.match(await run('fly'), { status: 2, stderr: /There is no command "fly"/ })
})
