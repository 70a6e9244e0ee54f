/** A mail server that accepts every message on a loopback port, or refuses its recipient. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { freePort } from '../support/free-port.ts'
import { startDaemon } from './daemon.ts'
import { requirePrograms } from './programs.ts'

const run = promisify(execFile)

export interface ReceivedMail {
  /** The recipient of the envelope. */
  recipient: string
  /** Decoded, by lower-case name. */
  headers: Record<string, string>
  text: string
}

export interface MailServer {
  url: string
  /** Returns the messages so far, in the order of their recipients. */
  received(): Promise<ReceivedMail[]>
  start(): Promise<void>
}

const handler = `
from aiosmtpd.handlers import Mailbox

class Refusing(Mailbox):
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith('refused@'):
            return '550 5.1.1 No such mailbox'
        envelope.rcpt_tos.append(address)
        return '250 OK'
`

const reader = `
import email, email.policy, json, pathlib, sys
found = []
for file in pathlib.Path(sys.argv[1]).glob('new/*'):
    message = email.message_from_bytes(file.read_bytes(), policy=email.policy.default)
    found.append({'recipient': message['X-RcptTo'], 'headers': {k.lower(): str(v) for k, v in message.items()},
                  'text': message.get_content().replace('\\r\\n', '\\n')})
print(json.dumps(sorted(found, key=lambda mail: mail['recipient'])))
`

/** Chooses a port. Call `start` to accept connections there. */
export async function mailServer(t: Pick<Test, 'teardown'>): Promise<MailServer> {
  await requirePrograms({
    who: 'The tests of email',
    programs: ['aiosmtpd', 'python3'],
    packages: ['python3-aiosmtpd'],
    instead: 'put aiosmtpd on PATH',
  })
  const folder = await mkdtemp(join(tmpdir(), 'stowage-smtp-'))
  const port = await freePort()
  const box = join(folder, 'box')
  await writeFile(join(folder, 'refusing.py'), handler)
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return {
    url: `smtp://127.0.0.1:${port}`,
    async received() {
      const { stdout } = await run('python3', ['-c', reader, box])
      return JSON.parse(stdout)
    },
    async start() {
      const args = ['-n', '-l', `127.0.0.1:${port}`, '-c', 'refusing.Refusing', box]
      const server = await startDaemon('env', [`PYTHONPATH=${folder}`, 'aiosmtpd', ...args], {
        port,
        output: join(folder, 'output'),
      })
      t.teardown(() => server.kill())
    },
  }
}
