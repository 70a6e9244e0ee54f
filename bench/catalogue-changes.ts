/** How much operations slow because the catalogue follows them. */
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectToDatabase, type Installation, install } from './installation.ts'
import type { Part } from './part.ts'
import { findProgram } from './processes.ts'
import { interleave } from './rounds.ts'
import { requestsTo } from './small-files.ts'
import type { Row } from './table.ts'
import { callsPerSecond, type WrkRequest, wrkScript } from './wrk.ts'

const bytes = 10_000
/** Long enough that most of what the catalogue does for a change is within the time that is measured. */
const seconds = 6

export const catalogueChanges: Part = {
  title: 'Changes with a catalogue',
  about: `Uploads of ${bytes / 1000} KB by REST and new folders by WebDAV for ${seconds} seconds, to tmpfs: with the catalogue, which follows each of
them on the same machine, and with \`STOWAGE_CATALOGUE_HOURS=0\`, without one. Each begins when the catalogue has followed all before.`,
  async measure({ rounds, say }) {
    const wrk = await findProgram('wrk')
    if (!wrk) {
      say('Changes with a catalogue are skipped: wrk is not installed.')
      return []
    }
    await using without = await install({ STOWAGE_CATALOGUE_HOURS: '0' })
    await using followed = await install()
    const db = await connectToDatabase(followed.folder)
    await using _connection = { [Symbol.asyncDispose]: () => db.end() }
    const isFollowed = async () => {
      for (let isLeft = true; isLeft; ) {
        await sleep(200)
        const { rowCount } = await db.query(`
          select from catalogue_entries union all select from catalogue_changes
          union all select from outside_changes where published_at is null limit 1`)
        isLeft = rowCount !== 0
      }
    }
    let turn = 0
    const rows: Row[] = []
    for (const [what, connections, requestTo] of [
      ['uploads, 16 connections', 16, uploadTo],
      ['uploads, one connection', 1, uploadTo],
      ['new folders, one connection', 1, folderIn],
    ] as const) {
      say(`  ${what}`)
      const measure = (installation: Installation) => async () => {
        turn += 1
        const up = join(installation.files, 'up')
        await mkdir(up, { recursive: true })
        const request = requestTo(installation, turn)
        const script = await wrkScript(installation.folder, 'change', request)
        const figure = await callsPerSecond(wrk, script, installation.stowage.url, { connections, seconds })
        // The server may still write what wrk has given up.
        await rm(up, { recursive: true, maxRetries: 10 })
        await isFollowed()
        return figure
      }
      const figures = await interleave(rounds, { without: measure(without), followed: measure(followed) })
      const against = { what: 'without', figures: figures.without }
      rows.push(
        { what: `${what}: without a catalogue`, figures: figures.without, unit: 'calls/s' },
        { what: `${what}: with a catalogue`, figures: figures.followed, unit: 'calls/s', against },
      )
    }
    return rows
  },
}

function uploadTo(installation: Installation, turn: number): WrkRequest {
  const { up } = requestsTo(installation, { bytes, files: 1 })
  return { ...up, path: up.path.replace('TURN', String(turn)) }
}

function folderIn({ key }: Installation, turn: number): WrkRequest {
  const headers = { Authorization: `Basic ${Buffer.from(`bench:${key}`).toString('base64')}` }
  return { method: 'MKCOL', path: `/dav/local/up/${turn}-#`, headers }
}
