// Uploads a folder, six files at once, and skips the files that exist:
//   STOWAGE_URL=https://files.example.org STOWAGE_API_KEY=stw_... node upload-folder.js ./photos PROVIDER_ID /photos
import { openAsBlob } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { Stowage, StowageError } from '@stowage/client'

const [folder, providerId, target] = process.argv.slice(2)
const stowage = new Stowage({ url: process.env.STOWAGE_URL, credential: process.env.STOWAGE_API_KEY })

const entries = await readdir(folder, { recursive: true, withFileTypes: true })
const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))

async function uploadNext() {
  for (let file = files.pop(); file !== undefined; file = files.pop()) {
    const path = `${target}/${relative(folder, file).split(sep).join('/')}`
    try {
      await stowage.files.upload({ providerId, path, body: await openAsBlob(file) })
      process.stdout.write(`${file} -> ${path}\n`)
    } catch (error) {
      if (!(error instanceof StowageError) || error.reason !== 'ALREADY_EXISTS') throw error
      process.stdout.write(`${path} exists\n`)
    }
  }
}

await Promise.all(Array.from({ length: 6 }, uploadNext))
