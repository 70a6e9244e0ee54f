import { useId } from 'react'
import { common } from '../texts/common.ts'
import { texts } from '../texts/encryption.ts'
import { Choices, Switch } from '../ui/choices.tsx'
import { TextField } from '../ui/field.tsx'
import { Select } from '../ui/select.tsx'
import { Folded } from './config-fields.tsx'
import type { EncryptionValues } from './encryption.ts'

const suffixPattern = /^(\.[^/]{1,31}|none)$/i

/** Whether and how a new storage is encrypted. */
export function EncryptionFields({
  values,
  onChange,
}: {
  values: EncryptionValues
  onChange: (changes: Partial<EncryptionValues>) => void
}) {
  const helpId = useId()
  const { isOn, source } = values
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset brings its own border and legend
    <div role="group" aria-label={texts.encrypt} className="encryption">
      <Switch isSelected={isOn} onChange={isOn => onChange({ isOn })} aria-describedby={helpId}>
        {texts.encrypt}
      </Switch>
      <p id={helpId} className="help">
        {texts.encryptHelp}
      </p>
      {isOn && (
        <>
          <Choices
            label={texts.source}
            choices={(['MADE', 'OWN', 'EXISTING'] as const).map(value => ({
              value,
              title: texts.sources[value],
              help: texts.sourceHelp[value],
            }))}
            value={source}
            onChange={source => onChange({ source })}
          />
          {source !== 'MADE' && <SecretFields values={values} onChange={onChange} />}
          {source === 'EXISTING' ? (
            <SettingFields values={values} onChange={onChange} />
          ) : (
            <Folded title={texts.settings} summary={summaryOf(values)}>
              <SettingFields values={values} onChange={onChange} />
            </Folded>
          )}
        </>
      )}
    </div>
  )
}

function summaryOf({ names, encoding }: EncryptionValues): string {
  const encoded = names === 'STANDARD' ? [texts.encodings[encoding]] : []
  return [`${texts.names}: ${texts.nameModes[names].toLowerCase()}`, ...encoded].join(', ')
}

interface FieldsProps {
  values: EncryptionValues
  onChange: (changes: Partial<EncryptionValues>) => void
}

/** The bounds are those of the server. */
function SecretFields({ values: { source, password, salt }, onChange }: FieldsProps) {
  return (
    <>
      <TextField
        label={texts.password}
        description={source === 'EXISTING' ? texts.existingPassword : undefined}
        value={password}
        onChange={password => onChange({ password })}
        type="password"
        autoComplete="off"
        maxLength={1024}
        isRequired
      />
      <TextField
        label={common.optional(texts.salt)}
        description={texts.saltHelp}
        value={salt}
        onChange={salt => onChange({ salt })}
        type="password"
        autoComplete="off"
        maxLength={1024}
      />
    </>
  )
}

function SettingFields({ values: { names, encoding, encryptFolderNames, suffix }, onChange }: FieldsProps) {
  return (
    <>
      <Select
        label={texts.names}
        description={texts.namesHelp[names]}
        options={(['STANDARD', 'OFF'] as const).map(value => ({ value, title: texts.nameModes[value] }))}
        value={names}
        onChange={names => onChange({ names })}
      />
      {names === 'OFF' ? (
        <TextField
          label={texts.suffix}
          description={texts.suffixHelp}
          value={suffix}
          onChange={suffix => onChange({ suffix })}
          validate={text => (suffixPattern.test(text) ? null : texts.wrongSuffix)}
          autoComplete="off"
          isRequired
        />
      ) : (
        <>
          <Select
            label={texts.encoding}
            description={texts.encodingHelp[encoding]}
            options={(['BASE32', 'BASE64', 'BASE32768'] as const).map(value => ({
              value,
              title: texts.encodings[value],
            }))}
            value={encoding}
            onChange={encoding => onChange({ encoding })}
          />
          <Switch isSelected={encryptFolderNames} onChange={encryptFolderNames => onChange({ encryptFolderNames })}>
            {texts.folderNames}
          </Switch>
        </>
      )}
    </>
  )
}
