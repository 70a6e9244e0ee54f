/** No text of a server controls the terminal or looks like a line of its own. */
import t from 'tap'
import { printable } from '../../packages/cli/src/terminal/writer.ts'
import { inTurn } from '../support/extent.ts'
import { commandLine } from './command-line.ts'
import { hostileServer } from './hostile-server.ts'

// By night, each command starts a process, which takes a second.
t.setTimeout(300_000)

const attack = '\u001b]0;owned\u0007\u009b2J\u202e\nforged'
const escaped = String.raw`\u001b]0;owned\u0007\u009b2J\u202e\u000aforged`
/** The text that the attack would print. The command line itself prints other escape sequences on a terminal. */
const effects = ['\u001b]', '\u0007', '\u009b', '\u202e', '\nforged']

const progress = {
  files: 1,
  totalFiles: null,
  bytes: 1,
  totalBytes: null,
  bytesPerSecond: 0,
  skipped: 0,
  deleted: 0,
  failed: 0,
}
const times = { createdAt: '2026-01-01T00:00:00.000Z', endedAt: null }
const job = { id: 'j1', kind: 'DELETE', state: 'SUCCEEDED', dryRun: false, error: null, progress, ...times }
const hold = { providerId: 'p1', until: null, createdAt: times.createdAt, createdBy: null, releasedAt: null }
const noFailures = { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } }

t.test('a question shows the name of a storage with escapes', async t => {
  const url = await hostileServer(t, [], { storage: attack })
  const cli = await commandLine(t, { STOWAGE_URL: url, STOWAGE_API_KEY: 'stw_x' })
  const questions = [
    ['rm', 'p1:/a'],
    ['trash', 'empty', 'p1:'],
    ['sync', '--delete', 'p1:/a', 'p1:/b'],
  ]
  for (const args of inTurn(questions)) {
    const command = cli.startOnTerminal(args)
    await command.hasPrinted('[y/N]')
    command.process.stdin?.write('n\r')
    t.equal(await command.exited, 2, command.printed())
    t.ok(command.printed().includes(escaped), command.printed())
    t.same(
      effects.filter(effect => command.printed().includes(effect)),
      [],
      args.join(' '),
    )
  }
})

t.test('the bar shows the state of a job with escapes, in one line', async t => {
  const states = [attack, 'x'.repeat(500), 'SUCCEEDED']
  const events = states.map(state => JSON.stringify({ data: { jobChanged: { ...job, state } } }))
  const answers = {
    createJob: { createJob: { job } },
    jobChanged: events,
    'job(id': { job: { ...job, failures: noFailures } },
  }
  const url = await hostileServer(t, [], { answers })
  const cli = await commandLine(t, { STOWAGE_URL: url, STOWAGE_API_KEY: 'stw_x' })
  const remove = cli.startOnTerminal(['rm', '-r', '-y', 'p1:/top'])
  t.equal(await remove.exited, 0, remove.printed())
  t.same(
    effects.filter(effect => remove.printed().includes(effect)),
    [],
  )
  const bars = remove.printed().split('\r\u001b[K').slice(0, -1)
  t.ok(bars.some(bar => bar.startsWith(escaped)))
  t.ok(bars.some(bar => bar.startsWith('xxx')))
  t.ok(
    bars.every(bar => bar.length < 80),
    'a bar can be removed, because it has one line',
  )
})

t.test('each result is one line, whatever the names contain', async t => {
  const answers = {
    'viewer {': {
      viewer: {
        kind: 'SESSION',
        expiresAt: null,
        scopes: ['read'],
        user: { email: attack, role: 'OWNER' },
        workspace: { name: attack },
        apiKey: null,
        providerAccess: { all: true, restrictions: [] },
      },
    },
    'shares(': {
      shares: {
        nodes: [{ id: 's1', kind: 'VIEW', state: 'active', paths: [attack], expiresAt: null, url: attack }],
        pageInfo: noFailures.pageInfo,
      },
    },
    'query Entry': {
      entry: {
        __typename: 'File',
        name: 'a',
        path: attack,
        modifiedAt: null,
        mimeType: attack,
        lock: null,
        hold: null,
      },
    },
    'holds(': {
      holds: { nodes: [{ id: 'h1', path: attack, reason: attack, ...hold }], pageInfo: noFailures.pageInfo },
    },
    'job(id': { job: { ...job, error: { reason: 'X', message: attack }, failures: noFailures } },
  }
  const name = 'a\nimportant.txt'
  const url = await hostileServer(t, [{ name, kind: 'File' }], { answers })
  const cli = await commandLine(t, { STOWAGE_URL: url, STOWAGE_API_KEY: 'stw_x' })
  t.equal(await cli.output('ls', 'p1:/top'), 'a\\u000aimportant.txt\n')
  t.equal((await cli.json('ls', 'p1:/top')).lines[0].name, name, 'JSON keeps the name')
  for (const [args, count] of [
    [['whoami'], 7],
    [['share', 'list'], 2],
    [['stat', 'p1:/a'], 3],
    [['hold', 'ls'], 1],
    [['jobs', 'show', 'j1'], 2],
  ] as const) {
    const printed = await cli.output(...args)
    t.equal(printed.trimEnd().split('\n').length, count, printed)
    t.ok(printed.includes(escaped), printed)
    t.same(
      effects.filter(effect => printed.includes(effect)),
      [],
      args.join(' '),
    )
  }
})

t.test('an event that is not JSON is not printed', async t => {
  const url = await hostileServer(t, [], { answers: { jobChanged: ['\u001b]0;owned\u0007'] } })
  const cli = await commandLine(t, { STOWAGE_URL: url, STOWAGE_API_KEY: 'stw_x' })
  const { status, stderr } = await cli.run(['jobs', 'wait', 'j1'])
  t.match({ status, stderr }, { status: 1, stderr: 'stowage: The server sent an event that is not JSON.\n' })
})

t.test('everything that is not printable is escaped', async t => {
  t.equal(
    printable('\t\u007f\u0085\u00ad\u200b\u200e\u2028\u2066\ufeff'),
    String.raw`\u0009\u007f\u0085\u00ad\u200b\u200e\u2028\u2066\ufeff`,
  )
  t.equal(printable('\u{e0041}\ud800'), String.raw`\udb40\udc41\ud800`)
  const readable = 'é 漢字 👩\u200d👩\u200d👧 می\u200cخواهم \\u001b'
  t.equal(printable(readable), readable)
})
