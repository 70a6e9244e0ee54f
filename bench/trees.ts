import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type S3Account, s3Server } from '../test/servers/radosgw.ts'
import { client } from '../test/support/client.ts'
import { install, makeTree } from './installation.ts'
import { jobRunner } from './jobs.ts'
import type { Part } from './part.ts'
import { findProgram, run } from './processes.ts'
import { interleave } from './rounds.ts'
import type { Row } from './table.ts'

const bytes = 10_000
const defaultFiles = 3000

export const trees: Part = {
  title: 'Copies of trees',
  about: `A tree of ${defaultFiles.toLocaleString('en')} files of ${bytes / 1000} KB, 100 in each folder, copied as a job, on tmpfs and in radosgw, beside \`rclone copy --transfers 16\`
and \`cp -r\`. Seconds, so less is better. A job also fsyncs each file and stores its progress. \`files=100000\` sets the number
of files.`,
  async measure({ rounds, say, files = defaultFiles }) {
    const rclone = await findProgram('rclone')
    if (!rclone || (!process.env.TEST_S3_ENDPOINT && !(await findProgram('radosgw')))) {
      say('Copies of trees are skipped: they need rclone, and radosgw or TEST_S3_ENDPOINT.')
      return []
    }
    await using stack = new AsyncDisposableStack()
    const server = await s3Server({ teardown: end => stack.defer(end) })
    const bucket = await server.newBucket()
    const installation = stack.use(await install())
    const { stowage, session, files: root, providerId: local } = installation
    const { endpoint, region, accessKeyId, secretAccessKey } = server
    const config = { bucket, endpoint, region, accessKeyId, secretAccessKey, forcePathStyle: true }
    const s3 = await client(stowage.url).connectProvider(session, 's3', config)
    const source = join(root, 'tree')
    await makeTree(source, { files, bytes })
    // Remove the variables of the AWS SDK, because rclone would read them, too.
    const env = { PATH: process.env.PATH, ...remote(server) }
    const copy = (...args: string[]) => run(rclone, ['copy', '--config', '', '--transfers', '16', ...args], { env })
    await copy(source, `s3:${bucket}/tree`)

    let turn = 0
    const seconds = async (work: (name: string) => Promise<unknown>): Promise<number> => {
      const name = `copy-${turn++}`
      // A job copies into a folder that exists.
      await mkdir(join(root, name))
      const from = performance.now()
      await work(name)
      const figure = (performance.now() - from) / 1000
      await rm(join(root, name), { recursive: true })
      return figure
    }
    const job = jobRunner(installation)
    const by = {
      'local to S3': {
        rclone: (name: string) => copy(source, `s3:${bucket}/${name}`),
        Stowage: (name: string) => job({ providerId: local, path: '/tree' }, { providerId: s3, path: `/${name}` }),
      },
      'S3 to S3, one bucket': {
        rclone: (name: string) => copy(`s3:${bucket}/tree`, `s3:${bucket}/${name}`),
        Stowage: (name: string) => job({ providerId: s3, path: '/tree' }, { providerId: s3, path: `/${name}` }),
      },
      'local to local': {
        'cp -r': (name: string) => run('cp', ['-r', source, join(root, name)]),
        rclone: (name: string) => copy(source, join(root, name)),
        Stowage: (name: string) => job({ providerId: local, path: '/tree' }, { providerId: local, path: `/${name}` }),
      },
    }
    const rows: Row[] = []
    for (const [what, contestants] of Object.entries(by)) {
      say(`  ${what}`)
      const timed = Object.entries(contestants).map(([name, work]) => [name, () => seconds(work)] as const)
      const figures: Record<string, number[]> = await interleave(rounds, Object.fromEntries(timed))
      const [rival = ''] = Object.keys(contestants)
      const against = { what: rival, figures: figures[rival] ?? [] }
      for (const name of Object.keys(contestants)) {
        const row = { what: `${what}: ${name}`, figures: figures[name] ?? [], unit: 's' }
        rows.push(name === rival ? row : { ...row, against })
      }
    }
    return rows
  },
}

/** Returns the environment that configures rclone's remote `s3`. */
function remote({ endpoint, region, accessKeyId, secretAccessKey }: S3Account): Record<string, string> {
  return {
    RCLONE_CONFIG_S3_TYPE: 's3',
    RCLONE_CONFIG_S3_PROVIDER: 'Ceph',
    RCLONE_CONFIG_S3_ENDPOINT: endpoint,
    RCLONE_CONFIG_S3_REGION: region,
    RCLONE_CONFIG_S3_ACCESS_KEY_ID: accessKeyId,
    RCLONE_CONFIG_S3_SECRET_ACCESS_KEY: secretAccessKey,
  }
}
