package poison

import (
	"iter"
	"strings"
)

// PlantedSecret is a command line that contains a secret.
type PlantedSecret struct {
	Name, Shape string
	Command     []string
	Marks       []string // parts of the secret, none of which may appear in the output
}

// Leak returns a mark of the secret that a text contains; "" if it contains none.
func (p PlantedSecret) Leak(kept string) string {
	for _, mark := range p.Marks {
		if strings.Contains(kept, mark) {
			return mark
		}
	}
	return ""
}

// SecretNames lists names of secrets.
var SecretNames = strings.Fields(`
	password admin_password login_password root_password main_password connection_password db_password user_pass db_pass min_pass passphrase passwd pwd passcode
	token hub_token login_token session_token aws_session_token authentication_token registration_token access_token refresh_token bot_token main_token
	max_token input_token n_token per_token csrf_token api_token
	api_key openai_api_key wandb_api_key access_key secret_access_key private_key encryption_key signing_key license_key ssh_key account_key key
	secret client_secret webhook_secret shared_secret session_secret
	session_id session sid session_cookie cookie auth basic_auth authorization bearer credential credentials creds jwt oauth
	mfa_code totp_seed recovery_code recovery_phrase verification_code backup_code hmac hmac_secret otp pin security_answer seed_phrase mnemonic
	signature sig dsn salt nonce psk sas_token connection_string cvv webhook_url
	one_time_code one_time_password access_code door_code passkey service_account_key master_password train_password model_token data_key seed_words`)

// SecretValues lists secrets with their marks. Some are words and paths that are harmless
// elsewhere.
var SecretValues = map[string][]string{
	"hunter2":                        {"hunter2"},
	"kL9xQ2vB7mZ4pR8w":               {"kL9xQ2"},
	"9f86d081884c7d65":               {"9f86d0"},
	"c2VjcmV0LXZhbHVlMQ==":           {"c2Vjcm"},
	"kL9x/Qm2/vB7=":                  {"kL9x", "Qm2"},
	"correct horse battery":          {"correct", "horse", "battery"},
	"482913":                         {"482913"},
	"пароль秘密7":                      {"пароль"},
	"https://bob:hunter2@host/h":     {"hunter2"},
	"/data/hunter2/x":                {"hunter2"},
	"momentum":                       {"momentum"},
	"550e8400-e29b-41d4-a716-446655": {"550e84", "e29b"},
	"7493705827":                     {"74937"},
	"4829":                           {"4829"},
	"WDqHQqpd.KqdQn":                 {"WDqHQ", "KqdQn"},
	"dragonhorse377":                 {"dragonhorse"},
	"Tr0ub4dor3":                     {"Tr0ub4"},
}

// shape makes a command line from a name and a value.
type shape struct {
	name string
	of   func(name, value string) []string
}

// plain makes a shape from a text in which NAME, name, na-me, naMe and VALUE are replaced. The
// text is split at spaces, except between bars.
func plain(text string) shape {
	return shape{text, func(name, value string) []string {
		fill := strings.NewReplacer("NAME", strings.ToUpper(name), "name", name, "na-me",
			strings.ReplaceAll(name, "_", "-"), "naMe", camel(name), "VALUE", value)
		var command []string
		for i, part := range strings.Split(text, "|") {
			words := strings.Fields(part)
			if i%2 == 1 {
				words = []string{part}
			}
			for _, word := range words {
				command = append(command, fill.Replace(word))
			}
		}
		return command
	}}
}

// camel converts snake_case to camelCase.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		if w == "" {
			continue
		}
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// SecretShapes lists the forms in which a command line contains a name and its secret.
var SecretShapes = func() (all []shape) {
	for text := range strings.SplitSeq(strings.TrimSpace(shapes), "\n") {
		all = append(all, plain(strings.ReplaceAll(text, `\n`, "\n")))
	}
	return all
}()

const shapes = `
python t.py --na-me VALUE
python t.py --na-me=VALUE
python t.py --name VALUE --lr 0.1
python t.py --naMe=VALUE
python t.py --NAME VALUE
./run -name VALUE
./run -name=VALUE
./run -naMe VALUE
NAME=VALUE python t.py
env NAME=VALUE python t.py
python t.py name=VALUE
python t.py ++model.name=VALUE
python t.py --set model.name=VALUE
python t.py --override name=VALUE lr=0.1
python t.py --env NAME=VALUE,LR=1
python t.py --args lr=1,name=VALUE,x=2
mpirun -np 8 -x NAME=VALUE python t.py
mpirun -x NAME -x LR python t.py NAME VALUE
srun --export=ALL,NAME=VALUE python t.py
sbatch --wrap |python t.py --na-me 'VALUE'|
torchrun --nproc-per-node=8 train.py --na-me VALUE
accelerate launch --multi_gpu train.py --na-me VALUE
deepspeed --num_gpus 8 train.py --name=VALUE
docker run -e NAME=VALUE image python t.py
docker run --env=NAME=VALUE image
docker run --env NAME=VALUE image
python t.py --config |{"name": "VALUE", "lr": 1}|
python t.py --config |{"db":{"name":"VALUE"}}|
python t.py |{'lr': 1, 'name': 'VALUE'}|
python t.py --config |db:\n  name: VALUE\n  lr: 1|
python t.py --kwargs |name: VALUE, lr: 1|
python t.py --kwargs name:VALUE
python t.py |<name>VALUE</name>|
python t.py <name>VALUE</name>
setenv NAME VALUE
csh -c |setenv NAME VALUE; python t.py|
csh -c |setenv NAME 'VALUE'; python t.py|
fish -c |set -x NAME 'VALUE'|
bash -c |export NAME=VALUE; python t.py|
bash -c |export NAME='VALUE' && python t.py|
bash -lc |NAME='VALUE' python t.py --lr 0.1|
bash -c |python t.py --na-me 'VALUE' --lr 0.1|
sh -c |sh -c "python t.py --name 'VALUE'"|
bash -c |cat <<EOF\nname=VALUE\nEOF|
python -c |import os; os.environ["NAME"] = "VALUE"|
python -c |os.environ['NAME']='VALUE'|
python -c |login(name="VALUE")|
python t.py |os.environ["NAME"] = "VALUE"|
python t.py os.environ['NAME']='VALUE'
java -Dname=VALUE Main
java -Ddb.name=VALUE Main
app.exe /name:VALUE
app.exe /name=VALUE
python t.py name:VALUE
python t.py name: VALUE
curl -H |na-me: VALUE| https://host
curl -H |X-na-me: VALUE|
curl -H na-me: VALUE
curl --header |na-me=VALUE|
curl --header na-me: Bearer VALUE
curl -H |Authorization: Bearer VALUE|
curl -H Authorization: Bearer VALUE
curl -H |Cookie: name=VALUE; path=/|
curl --cookie name=VALUE
curl -b name=VALUE
curl --data |user=me&name=VALUE&x=1|
curl --data-urlencode name=VALUE
curl -F name=VALUE
python t.py https://host/x?name=VALUE&y=1
python t.py https://host/x?y=1#name=VALUE
python t.py --url https://host/hook/VALUE
python t.py s3://bucket/data?X-Amz-name=VALUE
python t.py --data-dir s3://bob:VALUE@bucket/data
python t.py https://bob:VALUE@host/x
python t.py --name https://VALUE@host/x
python t.py postgres://bob:VALUE@host/db
curl -u bob:VALUE https://host
curl --user bob:VALUE
curl --proxy-user bob:VALUE
curl --login bob:VALUE
smbclient -U bob%VALUE
mysql -u root -pVALUE
sshpass -p VALUE ssh host
wandb login VALUE
python t.py bob:VALUE@host
python t.py --dsn |Server=x;Uid=z;Pwd=VALUE;|
python t.py |Server=x;name=VALUE;Port=1|
python t.py |host=a name=VALUE dbname=c|
python t.py |[db]\nname = VALUE|
python t.py |-----BEGIN RSA PRIVATE KEY-----\nVALUE\n-----END RSA PRIVATE KEY-----|
git config name VALUE
aws configure set name VALUE
kubectl create secret generic x --from-literal=name=VALUE
python t.py --na-me -VALUE
python t.py --na-me --VALUE
python t.py --na-me:VALUE
python t.py --set name VALUE
python t.py --set model.name VALUE
python t.py --header name VALUE
python t.py name = VALUE
python t.py --opts lr 0.1 name VALUE
python t.py --cfg-options model.name=VALUE data.lr=1
git -c http.name=VALUE clone
ssh -o name=VALUE host
docker build --build-arg NAME=VALUE
docker run --mount type=secret,id=x,name=VALUE
python t.py --model-args pretrained=gpt2,name=VALUE,dtype=float16
python t.py --name [VALUE]
python t.py --args=name,VALUE
python t.py --args name,VALUE,x
python t.py --args x,name,VALUE
python t.py --args |[name, VALUE]|
python t.py --args |["name","VALUE"]|
python t.py --args=name;VALUE
python t.py --args=name%VALUE
python t.py --tags lr:name:VALUE
python t.py --path name/VALUE
python t.py name,VALUE
python t.py name;VALUE
python t.py name%VALUE
python t.py name/VALUE
python t.py name//VALUE
python t.py name->VALUE
python t.py name==VALUE
python t.py name:=VALUE
python t.py name@VALUE
python t.py name+VALUE
python t.py name..VALUE
python t.py [name]VALUE
python t.py --lr 0.1,name,VALUE
python t.py --model resnet,name=VALUE
python t.py model={name:VALUE}
python t.py --name @VALUE
sudo NAME=VALUE python t.py
nohup env NAME=VALUE python t.py
singularity exec --env NAME=VALUE image.sif python t.py
conda run -n base env NAME=VALUE python t.py
ray job submit --runtime-env-json |{"env_vars": {"NAME": "VALUE"}}| -- python t.py
kubectl set env deploy/x NAME=VALUE
export NAME=VALUE
powershell |$env:NAME="VALUE"|
cmd /c |set NAME=VALUE|
bash -c |python t.py --na-me="VALUE"|
bash -c |curl -H "X-na-me: VALUE" https://host|
bash -c |curl https://host/x?name='VALUE'|
bash -c |echo 'VALUE' > /run/name|
`

// Plants yields every combination of name, shape and value.
func Plants() iter.Seq[PlantedSecret] {
	return func(yield func(PlantedSecret) bool) {
		for _, name := range SecretNames {
			for _, shape := range SecretShapes {
				for value, marks := range SecretValues {
					if !yield(PlantedSecret{name, shape.name, shape.of(name, value), marks}) {
						return
					}
				}
			}
		}
	}
}

// PlantOf returns a name and value in one shape; the index is taken modulo the number of
// shapes.
func PlantOf(name, value string, at uint) PlantedSecret {
	shape := SecretShapes[at%uint(len(SecretShapes))]
	return PlantedSecret{name, shape.name, shape.of(name, value), []string{value}}
}
