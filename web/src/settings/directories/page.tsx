/** Directories: the state of the LDAP directory, and the tokens for SCIM. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask, urlOf } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/directories.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Confirm, Dialog, DialogEnd, FormDialog } from '../../ui/dialog.tsx'
import { NameField, TextField } from '../../ui/field.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { AdminOnly, PageHead } from '../../ui/page.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Select } from '../../ui/select.tsx'
import { Time } from '../../ui/time.tsx'

const DirectoriesQuery = graphql(`
  query Directories {
    ldapDirectory { source readAt people error }
    scimDirectories { id name }
    scimTokens { id name displayPrefix directory { name issuer } createdAt lastUsedAt }
  }
`)

const CreateScimTokenMutation = graphql(`
  mutation CreateScimToken($input: CreateScimTokenInput!) {
    createScimToken(input: $input) { token }
  }
`)

const RevokeScimTokenMutation = graphql(`
  mutation RevokeScimToken($id: ID!) {
    revokeScimToken(id: $id)
  }
`)

type Directories = ResultOf<typeof DirectoriesQuery>
type ScimToken = Directories['scimTokens'][number]

export function DirectoriesPage() {
  return (
    <AdminOnly title={texts.directories} needsUnrestricted>
      <Content />
    </AdminOnly>
  )
}

function Content() {
  const client = useQueryClient()
  const query = useQuery({
    queryKey: queryKeys.directories,
    queryFn: ({ signal }) => ask(DirectoriesQuery, {}, { signal }),
  })
  const [isNew, setIsNew] = useState(false)
  const [revoking, setRevoking] = useState<ScimToken | null>(null)
  const reload = () => client.invalidateQueries({ queryKey: queryKeys.directories })
  const address = location.origin + urlOf('/scim/v2')
  return (
    <>
      <PageHead title={texts.directories}>
        <Button variant="primary" onPress={() => setIsNew(true)}>
          {texts.newToken}
        </Button>
      </PageHead>
      <p className="help">{texts.help}</p>
      <LoadState query={query} label={texts.loading} />
      {query.data && (
        <>
          <h2>{texts.ldap}</h2>
          <Ldap directory={query.data.ldapDirectory} />
          <h2>{texts.scim}</h2>
          <p className="help">{texts.scimHelp}</p>
          <p>
            {texts.address}: <code>{address}</code> <CopyButton text={address} label={texts.copyAddress} />
          </p>
          {query.data.scimTokens.length === 0 && <p className="empty">{texts.noTokens}</p>}
          {query.data.scimTokens.length > 0 && (
            <RowTable label={texts.scim} columns={[texts.token, common.created, texts.lastUsed]}>
              {query.data.scimTokens.map(token => (
                <Row key={token.id} token={token} onRevoke={() => setRevoking(token)} />
              ))}
            </RowTable>
          )}
        </>
      )}
      {isNew && (
        <NewTokenDialog
          directories={query.data?.scimDirectories ?? []}
          onCreated={reload}
          onClose={() => setIsNew(false)}
        />
      )}
      {revoking && (
        <Confirm
          title={texts.revokeTitle(revoking.name)}
          action={common.revoke}
          onConfirm={async () => {
            await ask(RevokeScimTokenMutation, { id: revoking.id })
            await reload()
          }}
          onClose={() => setRevoking(null)}
        >
          <p>{texts.revokeHelp}</p>
        </Confirm>
      )}
    </>
  )
}

function Ldap({ directory }: { directory: Directories['ldapDirectory'] }) {
  if (!directory) return <p className="help">{texts.noLdap}</p>
  const { source, readAt, people, error } = directory
  return (
    <>
      <p>
        <code>{source}</code>
      </p>
      {error !== null && <p className="error-box">{error}</p>}
      <p className="help">
        {readAt === null || people === null
          ? texts.ldapNotRead
          : texts.ldapRead(people, <Time at={readAt} as="distance" />)}
      </p>
    </>
  )
}

function Row({ token, onRevoke }: { token: ScimToken; onRevoke: () => void }) {
  const { id, name, displayPrefix, directory, createdAt, lastUsedAt } = token
  const nameId = `token-${id}`
  return (
    <tr>
      <td id={nameId}>
        <div className="main-cell">{name}</div>
        <div className="help">
          <span className="mono">{displayPrefix}…</span> {directory.name !== name && texts.of(directory.name)}{' '}
          {directory.issuer}
        </div>
      </td>
      <td data-label={common.created}>
        <Time at={createdAt} />
      </td>
      <td data-label={texts.lastUsed}>{lastUsedAt === null ? common.never : <Time at={lastUsedAt} as="distance" />}</td>
      <td className="actions-cell">
        <div className="actions">
          <Button variant="danger" onPress={onRevoke} aria-describedby={nameId}>
            {common.revoke}
          </Button>
        </div>
      </td>
    </tr>
  )
}

/** Stands for a directory of the token's own. */
const own = 'OWN'

function NewTokenDialog({
  directories,
  onCreated,
  onClose,
}: {
  directories: Directories['scimDirectories']
  onCreated: () => Promise<void>
  onClose: () => void
}) {
  const [name, setName] = useState('')
  const [directoryId, setDirectoryId] = useState(own)
  const [issuer, setIssuer] = useState('')
  const create = useMutation({
    mutationFn: () =>
      ask(CreateScimTokenMutation, {
        input: directoryId === own ? { name, issuer: issuer.trim() || null } : { name, directoryId },
      }),
    onSuccess: () => void onCreated(),
  })
  if (create.data) {
    const { token } = create.data.createScimToken
    return (
      <Dialog title={texts.newToken} onClose={onClose} isBusy>
        <p>{texts.created}</p>
        <code className="secret" data-testid="token">
          {token}
        </code>
        <DialogEnd label={common.done} onClose={onClose}>
          <CopyButton text={token} label={texts.copyToken} />
        </DialogEnd>
      </Dialog>
    )
  }
  return (
    <FormDialog title={texts.newToken} action={texts.create} submit={create} onClose={onClose}>
      <NameField value={name} onChange={setName} />
      {directories.length > 0 && (
        <Select
          label={texts.directory}
          description={texts.directoryHelp}
          options={[
            { value: own, title: texts.newDirectory },
            ...directories.map(({ id, name }) => ({ value: id, title: name })),
          ]}
          value={directoryId}
          onChange={setDirectoryId}
        />
      )}
      {directoryId === own && (
        <TextField label={texts.issuer} value={issuer} onChange={setIssuer} description={texts.issuerHelp} />
      )}
    </FormDialog>
  )
}
