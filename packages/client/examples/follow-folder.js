// Prints the changes of a folder and of everything below it, until Ctrl-C:
//   STOWAGE_URL=https://files.example.org STOWAGE_API_KEY=stw_... node follow-folder.js PROVIDER_ID /reports
import { Stowage } from '@stowage/client'

const [providerId, path] = process.argv.slice(2)
const stowage = new Stowage({ url: process.env.STOWAGE_URL, credential: process.env.STOWAGE_API_KEY })

const subscription = `subscription ($providerId: ID!, $path: String!) {
  entryChanged(providerId: $providerId, path: $path) { kind path }
}`

for await (const { entryChanged } of stowage.subscribe(subscription, { providerId, path })) {
  if (entryChanged.kind !== 'TREE_CHANGED') process.stdout.write(`${entryChanged.kind} ${entryChanged.path}\n`)
  // The first event, and each one after which changes may have been missed.
  else for await (const entry of stowage.files.list({ providerId, path })) process.stdout.write(`HAS ${entry.path}\n`)
}
