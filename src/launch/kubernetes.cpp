// Kubernetes 1.24 and later: every run an Indexed Job, a pod a node, found by a headless Service.
#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/random.h"
#include "launch/manifest.h"
#include "launch/scripts.h"

namespace ergometer::launch {
namespace {

constexpr std::string_view kPodNodeStart = R"sh(number=$1 nodes=$2 head=$3
attempt=k8s-$ERGOMETER_ATTEMPT rank=$JOB_COMPLETION_INDEX host=$NODE_NAME
if [[ -e $folder/runs/$number/finished ]]; then
  echo "run $number is finished ($(< "$folder/runs/$number/finished"))"
  exit 0
fi
# The first pod's name resolves once that pod has been started.
deadline=$((SECONDS + 900))
until ((nodes == 1)) || getent hosts "$head" > /dev/null; do
  if ((SECONDS > deadline)); then
    echo "run $number: $host: $head does not resolve" >&2
    exit 1
  fi
  sleep 1
done
)sh";

// The first pod speaks for all, when all have ended well.
constexpr std::string_view kNodeEnd = R"sh(if ((status == 0)); then
  touch -- "$out/done-$rank"
  deadline=$((SECONDS + 600))
  for ((i = 0; rank == 0 && i < nodes; ++i)); do
    until [[ -e $out/done-$i ]] || ((SECONDS > deadline)); do sleep 1; done
    if [[ ! -e $out/done-$i ]]; then
      echo "run $number: rank $i has not ended well" >&2
      status=1
    fi
  done
fi
if ((status != 0)); then
  echo "$status" > "$out/failed"
elif ((rank == 0)); then
  echo "$attempt" > "$run/finished.new"
  mv -- "$run/finished.new" "$run/finished"
fi
)sh";

constexpr std::string_view kJobDrive = R"sh(job=@NAME@-$number
identity=@IDENTITY@  # of this folder: a Job of that name may be another's
state() {
  local said
  said=$(kubectl get job "$job" @NAMESPACE@--ignore-not-found -o \
    jsonpath='{.metadata.labels.ergometer_folder}{"|"}{range .status.conditions[?(@.status=="True")]}{.type}{" "}{end}')
  if [[ -n $said && $said != "$identity|"* ]]; then
    echo "run $number: there is a Job $job of another folder's; give this one another name, or delete that" >&2
    return 75
  fi
  echo "${said#*|}"
}
now=$(state)
if [[ $now == *Complete* ]]; then
  echo "run $number is finished"
  exit 0
fi
if [[ $now == *Failed* ]]; then
  kubectl delete jobs @NAMESPACE@--selector "ergometer_folder=$identity,ergometer_run=$number" --wait
fi
cool_down
kubectl apply @NAMESPACE@-f "$run/kubernetes.yaml"
while :; do
  # Not being answered once says nothing of the Job.
  now=$(state) || { if (($? == 75)); then exit 75; fi; }
  case $now in
    *Complete*) status=0 && break ;;
    *Failed*) status=1 && break ;;
  esac
  sleep 5
done
date +%s > "$folder/last_end"
if ((status != 0)); then
  echo "run $number failed: kubectl logs job/$job" >&2
  exit 1
fi
echo "run $number is finished"
)sh";

constexpr std::string_view kManifest = R"yaml(# Run @NUMBER@ as drive.sh applies it.
apiVersion: v1
kind: Service
metadata:
  name: @JOB@@NAMESPACE@
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    job-name: @JOB@
---
apiVersion: batch/v1
kind: Job
metadata:
  name: @JOB@@NAMESPACE@
  labels: {ergometer_folder: @IDENTITY@, ergometer_run: "@NUMBER@"}
spec:
  completions: @NODES@
  parallelism: @NODES@
  completionMode: Indexed
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      subdomain: @JOB@
      containers:
        - name: training
          image: @IMAGE@
          command: @COMMAND@
          env:
            - name: ERGOMETER_ATTEMPT
              valueFrom: {fieldRef: {fieldPath: "metadata.labels['controller-uid']"}}
            - name: NODE_NAME
              valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
@SECRETS@@RIGHTS@          resources:
            limits: {@RESOURCES@}
          volumeMounts:
            - {name: shared, mountPath: @PATH@}
            - {name: shm, mountPath: /dev/shm}
      volumes:
        - {name: shared, persistentVolumeClaim: {claimName: @CLAIM@}}
        - {name: shm, emptyDir: {medium: Memory}}
)yaml";

constexpr const char* kRights = "          securityContext: {capabilities: {add: [IPC_LOCK]}}\n";

std::string quoted(const std::string& text) { return base::json_quote(text); }

/// Of what is to be run and where it lies; a label's value.
std::string identity(const Plan& plan) {
  const std::string text = manifest_json(plan) + plan.options.site.folder;
  return fmt::format("f{:016x}", base::Random(0, 0, text).bits(0));
}

std::string manifest_text(const Plan& plan, const PlannedRun& run, const std::string& identity) {
  const Site& site = plan.options.site;
  const spec::Job& job = plan.job_of(run).job;
  const std::string number = run_name(run.number), name = site.name + "-" + number;
  const std::string nodes = std::to_string(job.nodes());
  std::string secrets;
  for (const Secret& secret : site.secrets)
    secrets += fmt::format(
        "            - name: {}\n"
        "              valueFrom: {{secretKeyRef: {{name: {}, key: {}}}}}\n",
        secret.variable, quoted(secret.secret), quoted(secret.key));
  std::string resources = fmt::format("{}: {}", quoted(site.gpu_resource), gpus_per_node(job));
  for (const auto& [resource, count] : site.pod_resources)
    resources += fmt::format(", {}: {}", quoted(resource), count);
  const std::string head = fmt::format("{0}-0.{0}", name);
  return filled(
      kManifest,
      {{"@NUMBER@", number},
       {"@IDENTITY@", identity},
       {"@JOB@", name},
       {"@NAMESPACE@",
        site.namespace_name.empty() ? "" : "\n  namespace: " + quoted(site.namespace_name)},
       {"@NODES@", nodes},
       {"@RESOURCES@", resources},
       {"@RIGHTS@", site.pod_resources.empty() ? "" : kRights},
       {"@SECRETS@", secrets},
       {"@CLAIM@", quoted(site.volume_claim)},
       {"@COMMAND@", fmt::format("[bash, {}, {}, {}, {}]", quoted(site.folder + "/node.sh"),
                                 quoted(number), quoted(nodes), quoted(head))},
       {"@IMAGE@", quoted(site.container)},
       {"@PATH@", quoted(site.volume_path)}});
}

}  // namespace

SchedulerPart kubernetes_part(const Plan& plan) {
  const Site& site = plan.options.site;
  SchedulerPart part;
  part.node_start = kPodNodeStart;
  part.node_end = kNodeEnd;
  const std::string folder = identity(plan);
  part.drive = filled(
      kJobDrive, {{"@NAME@", site.name},
                  {"@IDENTITY@", folder},
                  {"@NAMESPACE@",
                   site.namespace_name.empty() ? "" : "--namespace " + site.namespace_name + " "}});
  for (const PlannedRun& run : plan.runs)
    part.files.push_back({fmt::format("runs/{}/kubernetes.yaml", run_name(run.number)),
                          manifest_text(plan, run, folder)});
  part.files.push_back(run_all_file(plan));
  return part;
}

}  // namespace ergometer::launch
