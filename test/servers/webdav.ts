/** Real WebDAV servers: Apache, nginx and rclone. */
import type { ChildProcess } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { startDaemon } from './daemon.ts'
import { requirePrograms } from './programs.ts'

export interface WebdavServer {
  url: string
  user: string
  password: string
  /** The folder on this machine that the server has at `/`. */
  root: string
  /** Ends the server, and starts it again. */
  stop(): Promise<void>
  start(): Promise<void>
}

interface Scope {
  teardown(run: () => Promise<void>): unknown
}

interface Place {
  home: string
  root: string
  port: number
  user: string
  password: string
}

/** @param command writes the configuration, and returns the command that starts the server */
async function startServer(t: Scope, command: (place: Place) => Promise<[string, ...string[]]>): Promise<WebdavServer> {
  const home = await mkdtemp(join(tmpdir(), 'stowage-webdav-'))
  t.teardown(() => rm(home, { recursive: true, force: true }))
  const [root, port] = [join(home, 'root'), await freePort()]
  await mkdir(root)
  // Where the tests run as root, the servers run as other users.
  await Promise.all([chmod(home, 0o755), chmod(root, 0o777)])
  const place = { home, root, port, user: 'someone', password: randomBytes(9).toString('hex') }
  const [program, ...args] = await command(place)
  const url = `http://127.0.0.1:${port}/`
  let server: ChildProcess | undefined
  const start = async () => {
    server = await startDaemon(program, args, { port, output: join(home, 'output') })
  }
  const stop = async () => {
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const gone = once(server, 'exit')
    server.kill('SIGTERM')
    await gone
  }
  t.teardown(stop)
  await start()
  return { url, user: place.user, password: place.password, root, start, stop }
}

const realm = 'files'

/** Apache with mod_dav_fs and digest authentication. */
export async function startApache(t: Scope): Promise<WebdavServer> {
  process.env.PATH = `${process.env.PATH}:/usr/sbin`
  await requirePrograms({
    who: 'The tests of WebDAV',
    programs: ['apache2'],
    packages: ['apache2-bin'],
    instead: 'put apache2 on PATH',
  })
  return await startServer(t, async ({ home, root, port, user, password }) => {
    const digest = createHash('md5').update(`${user}:${realm}:${password}`).digest('hex')
    await writeFile(join(home, 'digest'), `${user}:${realm}:${digest}\n`)
    const locks = join(home, 'locks')
    await mkdir(locks)
    await chmod(locks, 0o777)
    const modules = [
      'mpm_event',
      'authn_core',
      'authn_file',
      'authz_core',
      'authz_user',
      'auth_digest',
      'dav',
      'dav_fs',
      // Redirects a path of a folder without a slash at its end.
      'dir',
    ]
    const configuration = `
      ServerRoot ${home}
      ServerName 127.0.0.1
      Listen 127.0.0.1:${port}
      ${modules.map(name => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
      ${process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''}
      PidFile ${home}/pid
      ErrorLog ${home}/error.log
      StartServers 1
      # One for each connection of the tests: without a free one, Apache closes idle connections.
      ThreadsPerChild 64
      KeepAliveTimeout 30
      MaxKeepAliveRequests 0
      DocumentRoot ${root}
      DavLockDB ${locks}/db
      <Directory ${root}>
        Dav On
        AllowOverride None
        AuthType Digest
        AuthName ${realm}
        AuthDigestProvider file
        AuthUserFile ${home}/digest
        Require valid-user
      </Directory>
    `
    await writeFile(join(home, 'apache.conf'), configuration)
    return ['apache2', '-D', 'FOREGROUND', '-f', join(home, 'apache.conf')]
  })
}

/** nginx with its module for WebDAV and the one for PROPFIND, without authentication. */
export async function startNginxDav(t: Scope): Promise<WebdavServer> {
  const module = '/usr/lib/nginx/modules/ngx_http_dav_ext_module.so'
  await requirePrograms({
    who: 'The tests of WebDAV',
    programs: ['nginx'],
    files: [module],
    packages: ['nginx-light', 'libnginx-mod-http-dav-ext'],
    instead: 'put nginx on PATH, with its module dav-ext',
  })
  return await startServer(t, async ({ home, root, port }) => {
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    const configuration = `
      load_module ${module};
      daemon off; master_process off; pid ${home}/pid; error_log ${home}/error.log;
      ${process.getuid?.() === 0 ? 'user root;' : ''}
      events {}
      http {
        access_log off;
        ${temporary.map(name => `${name}_temp_path ${home}/${name};`).join(' ')}
        server {
          listen 127.0.0.1:${port};
          location / {
            root ${root};
            client_max_body_size 0;
            dav_methods PUT DELETE MKCOL COPY MOVE;
            dav_ext_methods PROPFIND OPTIONS;
            dav_access user:rw group:r all:r;
          }
        }
      }
    `
    await writeFile(join(home, 'nginx.conf'), configuration)
    return ['nginx', '-c', join(home, 'nginx.conf'), '-p', home, '-e', join(home, 'error.log')]
  })
}

/** rclone with basic authentication. */
export async function startRclone(t: Scope): Promise<WebdavServer> {
  await requireRclone()
  return await startServer(t, async place => {
    return [...rclone(place), place.root, '--user', place.user, '--pass', place.password]
  })
}

/** rclone with accounts that have their files at one address. Each has a folder with its name, and accepts any password. */
export async function startAccounts(t: Scope, users: readonly string[]): Promise<WebdavServer> {
  await requireRclone()
  return await startServer(t, async place => {
    const { home, root } = place
    await Promise.all(users.map(user => mkdir(join(root, user))))
    // rclone asks this program where the files of a user are.
    const program = join(home, 'accounts')
    const answer = `{"type": "local", "_root": "${root}/'"$user"'"}`
    const script = `#!/bin/sh\nuser=$(sed -n 's/.*"user": *"\\([a-z]*\\)".*/\\1/p')\nprintf '%s' '${answer}'\n`
    await writeFile(program, script, { mode: 0o755 })
    return [...rclone(place), '--auth-proxy', program]
  })
}

async function requireRclone(): Promise<void> {
  await requirePrograms({
    who: 'The tests of WebDAV',
    programs: ['rclone'],
    packages: ['rclone'],
    instead: 'put rclone on PATH',
  })
}

function rclone({ home, port }: Place): [string, ...string[]] {
  const options = ['--addr', `127.0.0.1:${port}`, '--dir-cache-time', '0s']
  return ['rclone', 'serve', 'webdav', '--config', join(home, 'rclone.conf'), ...options]
}
