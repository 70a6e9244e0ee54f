import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { definitions } from '../src/settings/definitions.ts'
import { readSettings, SettingsError } from '../src/settings/index.ts'
import { temporaryFolder } from './support/program.ts'

t.test('every setting has a default, except those for your own database', async t => {
  const settings = readSettings({})
  t.match(settings, { port: 3000, host: '127.0.0.1', databaseUrl: null, secret: null, logLevel: 'info' })
  t.same(settings.localRoots, [`${settings.dataFolder}/files`])
  t.ok(Object.isFrozen(settings))
})

t.test('an empty value counts as unset', async t => {
  t.same(readSettings(Object.fromEntries(Object.keys(definitions).map(name => [name, ' ']))), readSettings({}))
})

const bad: [string, string][] = [
  ['PORT', 'http'],
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', '80.5'],
  ['DATABASE_URL', 'mysql://localhost/x'],
  ['DATABASE_URL', 'secret-that-is-no-address'],
  ['STOWAGE_SECRET', 'too short'],
  ['STOWAGE_SECRET_PREVIOUS', 'too short'],
  ['STOWAGE_SETUP_CODE', 'guess me'],
  ['STOWAGE_CORS_ORIGINS', 'app.example.org'],
  ['STOWAGE_CORS_ORIGINS', 'https://app.example.org/path'],
  ['STOWAGE_CORS_ORIGINS', '*, https://app.example.org'],
  ['STOWAGE_PUBLIC_URL', 'files.example.org'],
  ['STOWAGE_PUBLIC_URL', 'ftp://files.example.org'],
  ['STOWAGE_OIDC_ISSUER', 'id.example.org'],
  ['STOWAGE_OIDC_PROMPT', 'LOGIN'],
  ['STOWAGE_OIDC_MAX_AGE_MINUTES', '525601'],
  ['STOWAGE_OIDC_ISSUER', 'http://id.example.org'],
  ['STOWAGE_OIDC_ISSUER', 'https://id.example.org/?realm=main'],
  ['STOWAGE_CLAMD_URL', 'clamav:3310'],
  ['STOWAGE_CLAMD_URL', 'tcp://clamav'],
  ['STOWAGE_CLAMD_URL', 'tcp://user@clamav:3310'],
  ['STOWAGE_CLAMD_URL', 'unix:clamd.ctl'],
  ['STOWAGE_CLAMD_UNSCANNED', 'maybe'],
  ['STOWAGE_SMTP_URL', 'https://mail.example.org'],
  ['STOWAGE_SMTP_URL', 'smtp://name:100%@mail.example.org'],
  ['STOWAGE_SMTP_URL', 'smtp://mail.example.org/path'],
  ['STOWAGE_SMTP_FROM', 'Stowage <stowage@example.org>'],
  ['STOWAGE_PASSWORD_RESETS', 'nobody'],
  ['STOWAGE_PUSH', 'yes'],
  ['STOWAGE_LOCAL_ROOTS', '/srv/files,relative'],
  ['STOWAGE_ADAPTERS', '../adapter.js'],
  ['STOWAGE_MAX_UPLOAD_BYTES', '5GB'],
  ['STOWAGE_STALL_TIMEOUT', '0'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', '127.0.0.1:4318'],
  ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
  ['OTEL_TRACES_SAMPLER_ARG', 'half'],
  ['STOWAGE_TRUST_PROXY', 'proxy.example.org'],
  ['STOWAGE_TRUST_PROXY', '10.0.0.0/33'],
  ['STOWAGE_TRUST_PROXY', '10.0.0.1,fd00::/8/8'],
  ['STOWAGE_SENDFILE', 'yes'],
  ['STOWAGE_SENDFILE', 'x-accel-redirect:internal'],
  ['STOWAGE_SENDFILE', 'x-accel-redirect:/in ternal'],
  ['LOG_LEVEL', 'loud'],
]
for (const [name, value] of bad) {
  t.test(`${name}=${value} is refused in one sentence that names it`, async t => {
    const error = t.throws(() => readSettings({ [name]: value })) as SettingsError
    t.type(error, SettingsError)
    t.match(error.message, new RegExp(`^${name} must [^.\\n].*\\.$`))
    if (/^(DATABASE_URL|STOWAGE_SECRET.*|STOWAGE_SETUP_CODE|STOWAGE_SMTP_URL)$/.test(name))
      t.notOk(error.message.includes(value), 'not repeated')
  })
}

t.test('a secret can be in a file', async t => {
  const folder = await temporaryFolder(t)
  const files = { secret: `${'s'.repeat(32)}\n`, short: 'too short', empty: '\n' }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const settings = readSettings({ STOWAGE_SECRET_FILE: `${folder}/secret` })
  t.equal(settings.secret, 's'.repeat(32), 'without the line break at its end')
  t.equal(readSettings({ STOWAGE_SECRET_FILE: ' ' }).secret, null)
  const refused = (environment: Record<string, string>, message: RegExp) =>
    t.throws(() => readSettings(environment), { name: 'SettingsError', message })
  refused({ STOWAGE_SECRET_FILE: `${folder}/short` }, /^STOWAGE_SECRET must have at least 32 bytes[^.]*\.$/)
  refused({ STOWAGE_SECRET_FILE: `${folder}/empty` }, /^STOWAGE_SECRET_FILE must name a file that is not empty/)
  refused({ STOWAGE_SECRET_FILE: `${folder}/nothing` }, /^STOWAGE_SECRET_FILE must name a file .* \(ENOENT\)\.$/)
  refused({ STOWAGE_SECRET_FILE: '/dev/zero' }, /^STOWAGE_SECRET_FILE must/)
  const both = { STOWAGE_SETUP_CODE: 'a'.repeat(16), STOWAGE_SETUP_CODE_FILE: `${folder}/secret` }
  refused(both, /^STOWAGE_SETUP_CODE_FILE must be unset, because STOWAGE_SETUP_CODE is set\.$/)
  t.equal(readSettings({ PORT_FILE: `${folder}/secret` }).port, 3000, 'other settings have no file')
})

t.test('an issuer requires its client', async t => {
  const oidc = { STOWAGE_OIDC_ISSUER: 'https://id.example.org/realms/main', STOWAGE_OIDC_CLIENT_ID: 'stowage' }
  t.throws(() => readSettings(oidc), { message: /^STOWAGE_OIDC_CLIENT_ID and STOWAGE_OIDC_CLIENT_SECRET must be set/ })
  t.same(readSettings({ ...oidc, STOWAGE_OIDC_CLIENT_SECRET: 'secret' }).oidc, {
    issuer: 'https://id.example.org/realms/main',
    clientId: 'stowage',
    clientSecret: 'secret',
    groupsClaim: null,
    prompt: 'DEFAULT',
    maxAgeMinutes: 0,
  })
  const asking = { STOWAGE_OIDC_PROMPT: 'select_account', STOWAGE_OIDC_MAX_AGE_MINUTES: '30' }
  t.match(readSettings({ ...oidc, STOWAGE_OIDC_CLIENT_SECRET: 'secret', ...asking }).oidc, {
    prompt: 'SELECT_ACCOUNT',
    maxAgeMinutes: 30,
  })
  const local = { ...oidc, STOWAGE_OIDC_ISSUER: 'http://127.0.0.1:8080', STOWAGE_OIDC_CLIENT_SECRET: 'secret' }
  t.equal(readSettings(local).oidc?.issuer, 'http://127.0.0.1:8080')
})

t.test('your own database requires your own secret', async t => {
  t.throws(() => readSettings({ DATABASE_URL: 'postgres://localhost/x' }), /^STOWAGE_SECRET must be set/)
  t.ok(readSettings({ DATABASE_URL: 'postgres://localhost/x', STOWAGE_SECRET: 'x'.repeat(32) }))
})

t.test('the public address can have a path', async t => {
  const basePath = (STOWAGE_PUBLIC_URL: string) => readSettings({ STOWAGE_PUBLIC_URL }).basePath
  t.equal(readSettings({}).basePath, '')
  t.equal(basePath('https://example.org/'), '')
  t.equal(basePath('https://example.org/stowage/'), '/stowage')
  t.equal(basePath('https://example.org/a/b'), '/a/b')
})

t.test('email requires the public address, because it contains links', async t => {
  const smtp = { STOWAGE_SMTP_URL: 'smtp://mail.example.org' }
  t.throws(() => readSettings(smtp), /^STOWAGE_PUBLIC_URL must be set/)
  const { mail } = readSettings({ ...smtp, STOWAGE_PUBLIC_URL: 'https://files.example.org:8443/stowage/' })
  const sender = { publicUrl: 'https://files.example.org:8443/stowage', from: 'stowage@files.example.org' }
  t.match(mail, { ...sender, sendsResets: true })
})

t.test('the scanner has a socket, or an address on the network', async t => {
  const scanner = (STOWAGE_CLAMD_URL: string, STOWAGE_CLAMD_UNSCANNED = '') =>
    readSettings({ STOWAGE_CLAMD_URL, STOWAGE_CLAMD_UNSCANNED }).scanner
  t.equal(readSettings({}).scanner, null)
  const address = { host: '::1', port: 3310 }
  t.same(scanner('tcp://[::1]:3310'), { address, acceptsUnscanned: false })
  t.same(scanner('tcp://[::1]:3310/', 'accept'), { address, acceptsUnscanned: true })
  for (const url of ['unix:/run/clamav/clamd.ctl', 'unix:///run/clamav/clamd.ctl']) {
    t.same(scanner(url), { address: { path: '/run/clamav/clamd.ctl' }, acceptsUnscanned: false })
  }
})

t.test('a previous secret requires a current one', async t => {
  const given = { STOWAGE_SECRET_PREVIOUS: 'y'.repeat(32) }
  t.throws(() => readSettings(given), /^STOWAGE_SECRET must be set/)
  t.equal(readSettings({ ...given, STOWAGE_SECRET: 'x'.repeat(32) }).previousSecret, 'y'.repeat(32))
})

t.test('STOWAGE_SENDFILE requires STOWAGE_TRUST_PROXY', async t => {
  const given = { STOWAGE_SENDFILE: 'X-Accel-Redirect:/internal/' }
  t.throws(() => readSettings(given), { message: /^STOWAGE_TRUST_PROXY must/ })
  const behind = { STOWAGE_TRUST_PROXY: '10.0.0.1' }
  t.same(readSettings({ ...given, ...behind }).sendfile, { header: 'X-Accel-Redirect', prefix: '/internal' })
  t.same(readSettings({ STOWAGE_SENDFILE: 'x-sendfile', ...behind }).sendfile, { header: 'X-Sendfile', prefix: '' })
})

t.test('docs/configuration.md has a row for each setting', async t => {
  const page = await readFile(new URL('../docs/configuration.md', import.meta.url), 'utf8')
  const rows = page.split('\n').filter(line => /^\| `[A-Z0-9_]+` \|/.test(line))
  t.same(
    rows,
    Object.entries(definitions).map(([name, { description, default: text, otherwise }]) => {
      return `| \`${name}\` | ${description} | ${text === null ? otherwise : `\`${text}\``} |`
    }),
  )
})
