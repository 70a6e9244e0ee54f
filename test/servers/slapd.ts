/** A real LDAP directory: OpenLDAP's slapd. */
import { type ChildProcess, execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { definitions } from '../../src/settings/definitions.ts'
import type { Settings } from '../../src/settings/index.ts'
import { freePort } from '../support/free-port.ts'
import { certificate } from './certificate.ts'
import { startDaemon } from './daemon.ts'
import { requirePrograms } from './programs.ts'

const run = promisify(execFile)

export interface LdapDirectory {
  host: string
  /** Speaks LDAP and StartTLS. */
  port: number
  /** Speaks LDAPS. */
  tlsPort: number
  /** PEM. */
  cert: string
  base: string
  bindDn: string
  bindPassword: string
  /** Changes entries, as LDIF with change records. */
  change(ldif: string): Promise<void>
  stop(): Promise<void>
  start(): Promise<void>
}

interface Scope {
  teardown(run: () => Promise<void>): unknown
}

export const base = 'dc=example,dc=com'

/** @param ldif the entries below the base, which are loaded before the server starts */
export async function startSlapd(t: Scope, ldif: string): Promise<LdapDirectory> {
  await requirePrograms({
    who: 'The tests of LDAP',
    programs: ['slapd', 'slapadd', 'ldapmodify', 'openssl'],
    packages: ['slapd', 'ldap-utils', 'openssl'],
    instead: 'put slapd and ldapmodify on PATH',
  })
  const home = await mkdtemp(join(tmpdir(), 'stowage-slapd-'))
  t.teardown(() => rm(home, { recursive: true, force: true }))
  const [port, tlsPort] = [await freePort(), await freePort()]
  const { key, cert } = await certificate()
  const [bindDn, bindPassword] = [`cn=admin,${base}`, randomBytes(12).toString('hex')]
  await mkdir(join(home, 'db'))
  await writeFile(join(home, 'key.pem'), key, { mode: 0o600 })
  await writeFile(join(home, 'cert.pem'), cert)
  const configuration = join(home, 'slapd.conf')
  await writeFile(configuration, lines({ home, bindDn, bindPassword }), { mode: 0o600 })
  const root = `dn: ${base}\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n`
  await writeFile(join(home, 'entries.ldif'), root + ldif)
  await run('slapadd', ['-q', '-f', configuration, '-l', join(home, 'entries.ldif')])

  let server: ChildProcess | undefined
  const start = async () => {
    const addresses = `ldap://127.0.0.1:${port}/ ldaps://127.0.0.1:${tlsPort}/`
    server = await startDaemon('slapd', ['-d', '0', '-f', configuration, '-h', addresses], {
      port,
      output: join(home, 'output'),
    })
  }
  const stop = async () => {
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const gone = once(server, 'exit')
    server.kill('SIGKILL')
    await gone
  }
  t.teardown(stop)
  await start()
  return {
    host: '127.0.0.1',
    port,
    tlsPort,
    cert,
    base,
    bindDn,
    bindPassword,
    async change(changes) {
      const file = join(home, 'changes.ldif')
      await writeFile(file, changes)
      await run('ldapmodify', ['-x', '-H', `ldap://127.0.0.1:${port}`, '-D', bindDn, '-w', bindPassword, '-f', file])
    },
    start,
    stop,
  }
}

function lines({ home, bindDn, bindPassword }: { home: string; bindDn: string; bindPassword: string }): string {
  return `
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
pidfile ${home}/pid
argsfile ${home}/args
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCertificateFile ${home}/cert.pem
TLSCertificateKeyFile ${home}/key.pem
database mdb
suffix "${base}"
rootdn "${bindDn}"
rootpw ${bindPassword}
directory ${home}/db
maxsize 1073741824
dbnosync
index objectClass,uid,mail,member,memberUid,entryUUID eq
`
}

/** Returns the LDIF of a person with a password. */
export function personEntry(
  uid: string,
  {
    mail = `${uid}@example.com`,
    password = `password of ${uid}`,
    cn = uid,
  }: { mail?: string; password?: string; cn?: string } = {},
): string {
  const dn = `uid=${uid},ou=people,${base}`
  return `dn: ${dn}
objectClass: inetOrgPerson
uid: ${uid}
cn:: ${Buffer.from(cn).toString('base64')}
sn: ${uid}
mail: ${mail}
userPassword: ${password}

`
}

/** Returns the LDIF of a group. @param members DNs */
export function groupEntry(cn: string, members: readonly string[]): string {
  return `dn: cn=${cn},ou=groups,${base}
objectClass: groupOfNames
cn: ${cn}
${members.map(dn => `member:: ${Buffer.from(dn).toString('base64')}`).join('\n')}

`
}

export const branches = ['people', 'groups']
  .map(ou => `dn: ou=${ou},${base}\nobjectClass: organizationalUnit\nou: ${ou}\n\n`)
  .join('')

/** The settings of Stowage for a directory, without readings. */
export function ldapSettings(server: LdapDirectory, changed: Partial<NonNullable<Settings['ldap']>> = {}) {
  const { host, port, bindDn, bindPassword } = server
  const filter = definitions.STOWAGE_LDAP_FILTER.default
  const groupFilter = '(objectClass=groupOfNames)'
  const common = {
    host,
    port,
    security: 'NONE',
    bindDn,
    bindPassword,
    base,
    filter,
    groupFilter,
    syncMinutes: 0,
  } as const
  return { ldap: { ...common, ...changed } }
}
