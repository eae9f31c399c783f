export TP=4
envsubst < template.sh > job.sh
bash job.sh
