/** `stowage doctor`, run as an operator runs it. */
import { chmod, mkdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { examine, lineOf } from '../src/start/doctor/index.ts'
import { testDatabase } from './servers/postgres.ts'
import { client } from './support/client.ts'
import { atNight, isNight } from './support/extent.ts'
import { main, runProgram, startProgram, temporaryFolder } from './support/program.ts'

const doctor = (environment: Record<string, string>) =>
  runProgram({ environment, command: [process.execPath, main, 'doctor'] })

/** Runs the checks in this process, because the start of the program takes seconds. */
async function examined(environment: Record<string, string>) {
  let [status, stdout] = [0, '']
  for await (const finding of examine(environment)) {
    stdout += lineOf(finding)
    if (finding.level === 'PROBLEM') status = 1
  }
  return { status, stdout }
}

t.test('the doctor finds what is wrong beside a running server, and changes nothing', async t => {
  const folder = await temporaryFolder(t)
  const files = join(folder, 'files')
  await mkdir(files)
  // The catalogue's looks at the back end would change the status.
  const environment = {
    STOWAGE_DATA: join(folder, 'data'),
    STOWAGE_LOCAL_ROOTS: files,
    STOWAGE_CATALOGUE_HOURS: '0',
    STOWAGE_SFTP_ADDRESS: '127.0.0.1:0',
    PORT: '0',
  }

  await atNight(t, 'before the first start', async t => {
    const before = await doctor(environment)
    t.equal(before.status, 0)
    t.match(before.stdout, /! Database: There is none in .* yet: the first start of the server creates it\.\n/)
    await t.rejects(stat(join(folder, 'data')), { code: 'ENOENT' }, 'no folder is created')
  })

  const server = await startProgram(t, { environment })
  const api = client(server.url)
  const { token } = await api.register('owner@example.org')
  await mkdir(join(files, 'team'))
  await api.connectProvider(token, 'local', { root: join(files, 'team') }, 'Team disk')
  const look = isNight ? doctor : examined
  const healthy = await look(environment)
  t.match(healthy, { status: 0, ...(isNight && { stderr: '' }) })
  t.equal(healthy.stdout.match(/^[!✗]/gm), null, healthy.stdout)
  for (const line of [
    /^✓ Settings: All settings are valid\.$/m,
    /^✓ Data folder: .* GiB free\.$/m,
    /^✓ Local files: /m,
    /^✓ Database: PostgreSQL \d+.* responds in/m,
    /^✓ Clock: /m,
    /^✓ Secret: It decrypts all stored credentials\.$/m,
    /^✓ SFTP: The host keys are SHA256:[\w+/]{43} \(ecdsa-sha2-nistp256\) and SHA256:[\w+/]{43} \(ssh-ed25519\)\.$/m,
    /^✓ Storage "Team disk": Its back end \(local\) responds\.$/m,
  ])
    t.match(healthy.stdout, line)

  await rename(join(files, 'team'), join(files, 'away'))
  await chmod(join(folder, 'data', 'secret'), 0o644)
  const ill = await look({
    ...environment,
    HOST: '0.0.0.0',
    STOWAGE_PUBLIC_URL: 'http://127.0.0.2:1',
    STOWAGE_RATELIMIT: '5',
  })
  t.equal(ill.status, 1)
  for (const line of [
    /^! Settings: STOWAGE_RATELIMIT is not a setting/m,
    /^! Settings: STOWAGE_SETUP_CODE is not set/m,
    /^! Public address: http:\/\/127\.0\.0\.2:1 cannot be reached/m,
    /^✗ Secret: Other users can read .*: run "chmod 600 .*"\.$/m,
    /^✗ Storage "Team disk": /m,
  ])
    t.match(ill.stdout, line)
  t.match(
    (await api.ask('{ providers { status } }', {}, token)).providers,
    [{ status: 'CONNECTED' }],
    'nothing changed',
  )
  t.equal(await server.stop(), 0)

  await atNight(t, 'without a running server', async t => {
    await rename(join(files, 'away'), join(files, 'team'))
    await chmod(join(folder, 'data', 'secret'), 0o600)
    t.match(await doctor(environment), { status: 0, stdout: /^✓ Storage "Team disk"/m })
    await rm(join(folder, 'data', 'secret'))
    t.match(await doctor(environment), { status: 1, stdout: /^✗ Secret: There is no secret in/m })
    await t.rejects(stat(join(folder, 'data', 'secret')), { code: 'ENOENT' }, 'no secret is created')
  })
})

atNight(t, 'the doctor explains a database or a secret that does not fit', async t => {
  const { connectionString } = await testDatabase(t)
  const secret = 'a secret that only this test has'
  const environment = { DATABASE_URL: connectionString, STOWAGE_SECRET: secret, PORT: '0' }
  const folder = await temporaryFolder(t)
  const data = { STOWAGE_DATA: join(folder, 'data') }
  const server = await startProgram(t, { environment: { ...environment, ...data } })
  const api = client(server.url)
  const { token } = await api.register('owner@example.org')
  const hook = { name: 'hook', url: 'http://127.0.0.1:1/', events: ['MEMBER_JOINED'] }
  const create = 'mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { secret } }'
  await api.ask(create, { input: hook }, token)
  t.equal(await server.stop(), 0)
  t.match(await doctor({ ...environment, ...data }), { status: 0 })
  const other = { ...environment, ...data, STOWAGE_SECRET: 'another secret of this very test' }
  t.match(await doctor(other), { status: 1, stdout: /^✗ Secret: 1 stored credentials were encrypted with another/m })
  const both = { ...other, STOWAGE_SECRET_PREVIOUS: secret }
  t.match(await doctor(both), {
    status: 0,
    stdout: /^! Secret: 1 values are still encrypted with the previous secret/m,
  })
  const away = { ...environment, ...data, DATABASE_URL: 'postgres://127.0.0.1:1/stowage' }
  t.match(await doctor(away), { status: 1, stdout: /^✗ Database: .*ECONNREFUSED.* Check DATABASE_URL/m })
  t.match(await doctor({ PORT: 'http' }), { status: 1, stdout: /^✗ Settings: PORT must be a whole number/m })
})
