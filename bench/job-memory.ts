import { link, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { growth } from './growth.ts'
import { install } from './installation.ts'
import { jobRunner } from './jobs.ts'
import type { Part } from './part.ts'

const perFolder = 1000
const defaultFiles = 100_000

export const jobMemory: Part = {
  title: 'Memory of a job',
  about: `The peak growth of the server's resident memory while a job copies a tree of tiny files from tmpfs to tmpfs, ${perFolder.toLocaleString('en')} in each
folder, and the speed. Each round has a fresh server in one process. \`files=1000000\` sets the number of files.`,
  async measure({ rounds, say, files = defaultFiles }) {
    const figures = { small: [] as number[], growth: [] as number[], rate: [] as number[] }
    for (let round = 0; round < rounds; round += 1) {
      say(`  round ${round + 1}`)
      await using installation = await install({ STOWAGE_PROCESSES: '1' })
      const { stowage, files: root, providerId } = installation
      const job = jobRunner(installation)
      const copy = async (name: string, count: number) => {
        await fill(join(root, name), count)
        await mkdir(join(root, 'copies', name), { recursive: true })
        return growth(stowage, () => job({ providerId, path: `/${name}` }, { providerId, path: `/copies/${name}` }))
      }
      // A small tree makes the server load its code, and shows how much a tree takes whatever its size.
      figures.small.push(await copy('small', 10 * perFolder))
      const from = performance.now()
      figures.growth.push(await copy('large', files))
      figures.rate.push((files * 1000) / (performance.now() - from))
      await rm(root, { recursive: true })
    }
    return [
      { what: `growth for ${(10 * perFolder).toLocaleString('en')} files`, figures: figures.small, unit: 'MiB' },
      { what: `further growth for ${files.toLocaleString('en')} files`, figures: figures.growth, unit: 'MiB' },
      { what: `speed, ${files.toLocaleString('en')} files`, figures: figures.rate, unit: 'files/s' },
    ]
  },
}

/** Makes a tree of hard links, which need no memory of their own on tmpfs. */
async function fill(folder: string, files: number): Promise<void> {
  for (let start = 0; start < files; start += perFolder) {
    const parent = join(folder, `folder ${start / perFolder}`)
    await mkdir(parent, { recursive: true })
    const first = join(parent, '0.txt')
    await writeFile(first, 'tiny')
    await Promise.all(
      Array.from({ length: Math.min(perFolder, files - start) - 1 }, (_, index) =>
        link(first, join(parent, `${index + 1}.txt`)),
      ),
    )
  }
}
